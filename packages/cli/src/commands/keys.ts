import { type Records, type Store, checkSealedWith, createAuditLog, resealRecords, sealedRecords } from "@skein/core";
import { type KeyInfo, KeyScope, TenantName, createKeys } from "@skein/server";
import { createIds } from "@skein/protocol";
import { openStore } from "skein/stores";
import { type ServeSettings, hookSecret, serveSettings } from "skein/serve";
import { type Call, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import type { Group } from "../terminal/command.ts";
import { type Kind, wholeNumber } from "../terminal/option-kinds.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { printTable } from "../terminal/table.ts";
import { shortTime } from "../terminal/times.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_PLACE } from "./server-options.ts";

const OPTIONS = { ...SERVER_PLACE, json: JSON_OPTION } as const;

const tenant: Kind<string> = {
  what: "a tenant: 1 to 63 lower-case letters, digits or -",
  read: (text) => TenantName.safeParse(text).data,
};
const DEFAULT_TENANT = "default";

const EXPIRES = {
  takes: "DAYS",
  kind: wholeNumber(1, 3650),
  about: "Days until the key expires (default: never)",
} as const;

const list = defineCommand({
  name: "keys list",
  summary:
    "List the names, scopes and states of the keys. The keys are not shown, because the store has only their hashes.",
  options: OPTIONS,
  examples: ["skein keys list", "skein keys list --json"],
  run: (call) =>
    withStore(call, async ({ records }) => {
      const all = await createKeys({ records }).list();
      if (call.values.json) for (const key of all) call.screen.json(key);
      else if (all.length === 0) call.screen.note("There is no key.\n");
      else printTable(call.screen, ["ID", "NAME", "OWNER", "TENANT", "SCOPES", "MADE", "STATE"], all.map(row));
    }),
});

const make = defineCommand({
  name: "keys make",
  words: "NAME",
  summary: "Make a key. It is shown once and cannot be shown again.",
  options: {
    scope: { takes: "SCOPES", about: "What the key may do: read, run, sql, admin; several with commas (default run)" },
    tenant: {
      takes: "NAME",
      kind: tenant,
      about: `The tenant whose sessions the key can use (default: ${DEFAULT_TENANT})`,
    },
    owner: { takes: "WHO", about: "Who is responsible for the key: a person or a team" },
    expires: EXPIRES,
    ...OPTIONS,
  },
  examples: [
    "skein keys make dashboard --scope read",
    "skein keys make analyst --scope run,sql --tenant acme",
    "skein keys make ci --owner platform-team --expires 90",
  ],
  run: (call) =>
    withNewStore(call, async ({ records }) => {
      const [name = ""] = call.words;
      const all = createKeys({ records });
      const scopes = scopesIn(call.values.scope ?? "run");
      const { tenant: of = DEFAULT_TENANT, owner = null } = call.values;
      const expiresAt = timeIn(call.values.expires);
      if ((await all.valid()).some((key) => key.name === name))
        throw new UsageError(`There is a key "${name}" already. Rotate or revoke it, or choose another name.`);
      const key = await all.make({ name, scopes, tenant: of, owner, expiresAt });
      await audit(records, { tenant: of, action: "key.create", target: name });
      say(call, key, { name, owner, tenant: of, scopes, expires_at: expiresAt, key });
      call.screen.note("Copy the key now: it is not shown again. The store has only the hash of the key.\n");
    }),
});

const rotate = defineCommand({
  name: "keys rotate",
  words: "NAME-OR-ID",
  summary: "Replace a key by a new one. The old key stays valid for a while.",
  options: {
    overlap: {
      takes: "MINUTES",
      kind: wholeNumber(0, 43_200),
      about: "How many minutes the old key stays valid (default 60)",
    },
    expires: { ...EXPIRES, about: "Days until the new key expires (default: the lifetime of the old key)" },
    ...OPTIONS,
  },
  examples: ["skein keys rotate ci", "skein keys rotate ci --overlap 1440 --expires 90"],
  run: (call) =>
    withStore(call, async ({ records }) => {
      const [named = ""] = call.words;
      const all = createKeys({ records });
      const found = (await all.valid()).filter(
        ({ name, id, replaced_by }) =>
          (name === named && replaced_by === null) || (named.length >= 6 && id.startsWith(named)),
      );
      const [old] = found;
      if (!old) throw new MissingError(`There is no valid key "${named}". "skein keys list" shows the keys.`);
      if (found.length > 1) throw new UsageError(`${found.length} keys have the name "${named}". Use the id of a key.`);
      const overlap = call.values.overlap ?? 60;
      const expiresAt = timeIn(call.values.expires);
      const key = await all.rotate(old.id, { overlapMs: overlap * 60_000, ...(expiresAt !== null && { expiresAt }) });
      await audit(records, { tenant: old.tenant, action: "key.rotate", target: old.id.slice(0, 12) });
      say(call, key, { name: old.name, tenant: old.tenant, scopes: old.scopes, key, overlap_minutes: overlap });
      call.screen.note(
        `Copy the key now: it is not shown again. The old key "${old.name}" stays valid for ${overlap} minutes.\n`,
      );
    }),
});

const revoke = defineCommand({
  name: "keys revoke",
  words: "NAME-OR-ID",
  summary: "Revoke a key. A running server rejects it within 2 seconds.",
  options: OPTIONS,
  examples: ["skein keys revoke dashboard"],
  run: (call) =>
    withStore(call, async ({ records }) => {
      const revoked = await createKeys({ records }).revoke(call.words[0] ?? "");
      await audit(records, { tenant: revoked.tenant, action: "key.revoke", target: revoked.id.slice(0, 12) });
      say(call, `The key "${revoked.name}" is revoked. Its open streams end within 5 seconds.`, revoked);
    }),
});

const secret = defineCommand({
  name: "keys hook-secret",
  summary: "Show the secret with which the hooks of a tenant are signed.",
  options: {
    tenant: { takes: "NAME", kind: tenant, about: `The tenant (default: ${DEFAULT_TENANT})` },
    ...OPTIONS,
  },
  examples: ["skein keys hook-secret", "skein keys hook-secret --tenant acme"],
  run: (call) =>
    withNewStore(call, async ({ records }) => {
      const owner = call.values.tenant ?? DEFAULT_TENANT;
      const { vault } = settingsFor(call).secrets;
      const signedWith = await hookSecret(sealedRecords(records, vault), owner);
      say(call, signedWith, { tenant: owner, hook_secret: signedWith });
    }),
});

const seal = defineCommand({
  name: "keys seal",
  summary:
    "Seal (encrypt) all secrets of the store with the first key of SKEIN_SECRETS_KEY, even secrets that an older key sealed.",
  options: OPTIONS,
  examples: ["skein keys seal"],
  run: (call) =>
    withStore(call, async ({ records }) => {
      const { vault } = settingsFor(call).secrets;
      if (!vault)
        throw new UsageError("There is no key to seal with. Set SKEIN_SECRETS_KEY or SKEIN_SECRETS_KEY_FILE.");
      await checkSealedWith(records, vault);
      const count = await resealRecords(records, vault);
      const done = `${count} secrets are now sealed with the key ${vault.keyId}. Older keys are not needed any more.`;
      say(call, done, { sealed: count, key_id: vault.keyId });
    }),
});

/**
 * `skein keys`: makes, lists, rotates and revokes API keys, and shows the secret that signs hooks. Works while a server
 * runs.
 */
export const keys: Group = {
  name: "keys",
  summary: "make, list and revoke the API keys of a server, even while it runs",
  commands: [list, make, rotate, revoke, secret, seal],
};

type KeysCall = Call<typeof OPTIONS>;

/** Runs `use` with a store, which must exist. */
async function withStore(call: KeysCall, use: (store: Store) => Promise<void>): Promise<number> {
  return withOpened(await openExisting(call.values.store ?? call.config.storeUrl, urlFor(call)), use);
}

/** Runs `use` with a store, which is created if it does not exist. */
async function withNewStore(call: KeysCall, use: (store: Store) => Promise<void>): Promise<number> {
  return withOpened(await openStore(urlFor(call)), use);
}

function urlFor(call: KeysCall): string {
  return settingsFor(call).storeUrl;
}

function settingsFor({ values: { store, data }, config }: KeysCall): ServeSettings {
  return serveSettings({ store, data }, config);
}

async function withOpened(store: Store, use: (store: Store) => Promise<void>): Promise<number> {
  try {
    await use(store);
    return EXIT.completed;
  } finally {
    await store.close();
  }
}

function say({ values, screen }: KeysCall, sentence: string, object: object): void {
  if (values.json) screen.json(object);
  else screen.out(`${visible(sentence)}\n`);
}

function scopesIn(text: string): readonly KeyScope[] {
  return text.split(",").map((one) => {
    const scope = KeyScope.safeParse(one).data;
    if (scope === undefined) throw new UsageError(`"${one}" is not a scope. Scopes are read, run, sql and admin.`);
    return scope;
  });
}

/** Commands of an operator on the server's machine are recorded in the audit log too. */
async function audit(
  records: Records,
  { tenant: of, ...entry }: { readonly tenant: string; readonly action: string; readonly target: string },
): Promise<void> {
  await createAuditLog({ records, ids: createIds(), now: Date.now }).append(of, { ...entry, actor: "operator" });
}

function row(key: KeyInfo): readonly string[] {
  const { id, name, owner, tenant: of, scopes, created_at } = key;
  return [id.slice(0, 12), name, owner ?? "", of, scopes.join(","), shortTime(new Date(created_at)), stateOf(key)];
}

function stateOf({ revoked_at, expires_at }: KeyInfo): string {
  if (revoked_at !== null) return `revoked ${shortTime(new Date(revoked_at))}`;
  if (expires_at === null) return "valid";
  const isOver = Date.parse(expires_at) <= Date.now();
  return `${isOver ? "expired" : "valid until"} ${shortTime(new Date(expires_at))}`;
}

function timeIn(inDays: number | undefined): string | null {
  return inDays === undefined ? null : new Date(Date.now() + inDays * 24 * 3600 * 1000).toISOString();
}
