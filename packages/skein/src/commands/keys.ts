import { KnownError, isKnownError } from "@skein/protocol";
import { type KeyInfo, KeyScope, type Keys, TenantName, createKeys } from "@skein/server";
import { readConfig } from "../config.ts";
import { parsedArgs } from "../main.ts";
import { openStore } from "../open-store.ts";
import { hookSecret } from "../serve/hook-secret.ts";
import { serveSettings } from "../serve/settings.ts";
import { type CommandHelp, helpOf } from "../terminal/command-help.ts";

const USAGE = `Expected "skein keys list", "skein keys make NAME [--scope read|run|sql|admin[,…]] [--tenant NAME]", "skein keys revoke NAME-OR-ID" or "skein keys hook-secret [--tenant NAME]", each with --store URL or --data FOLDER where the server has them.`;

const HELP: CommandHelp = {
  name: "keys",
  words: "list | make NAME | revoke NAME-OR-ID | hook-secret",
  summary: "Make, list and revoke the API keys of a server, also while it runs; show what its hooks are signed with.",
  options: [
    ["scope", "SCOPES", "What a new key may: read, run, sql, admin; several with commas (default run)"],
    ["tenant", "NAME", "Whose sessions it sees (default: default)"],
    ["store", "URL", "The server's store (default: sqlite in the data folder)"],
    ["data", "FOLDER", "The server's data folder (default ~/.skein)"],
    ["json", null, "One JSON object per line"],
  ],
  examples: ["skein keys make dashboard --scope read", "skein keys list", "skein keys revoke dashboard"],
};

/** `skein keys`: makes, lists and revokes API keys, and shows what hooks are signed with, beside a server that runs. */
export async function keys(args: readonly string[]): Promise<number> {
  const parsed = parsedArgs(args, {
    scope: { type: "string", default: "run" },
    tenant: { type: "string", default: "default" },
    store: { type: "string" },
    data: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  });
  if (!parsed) return 2;
  if (parsed.values.help) {
    process.stdout.write(helpOf(HELP));
    return 0;
  }
  const [verb, name, ...rest] = parsed.positionals;
  const isAlone = verb === "list" || verb === "hook-secret";
  const wants = isAlone ? name === undefined : (verb === "make" || verb === "revoke") && name !== undefined;
  if (!wants || rest.length > 0) {
    console.error(USAGE);
    return 2;
  }
  const { scope, tenant, store: storeFlag, data, json } = parsed.values;
  const say = (sentence: string, object: object): void => console.log(json ? JSON.stringify(object) : sentence);
  try {
    const store = await openStore(serveSettings({ store: storeFlag, data }, readConfig()).storeUrl);
    try {
      if (verb === "hook-secret") {
        const secret = await hookSecret(store.records, checkedTenant(tenant));
        say(secret, { tenant, hook_secret: secret });
      } else await perform(createKeys({ records: store.records }), { verb, name, scope, tenant, say });
      return 0;
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!isKnownError(error)) throw error;
    console.error(error.message);
    return error.code === "invalid" ? 2 : 1;
  }
}

async function perform(
  all: Keys,
  {
    verb,
    name = "",
    scope,
    tenant,
    say,
  }: {
    verb: string | undefined;
    name: string | undefined;
    scope: string;
    tenant: string;
    say: (sentence: string, object: object) => void;
  },
): Promise<void> {
  if (verb === "make") {
    const scopes = scope
      .split(",")
      .map((one) => KeyScope.safeParse(one).data ?? refused(`"${one}" is no scope: read, run, sql or admin.`));
    checkedTenant(tenant);
    if ((await all.list()).some((key) => key.name === name && key.revoked_at === null))
      refused(`There is a key "${name}" already. Revoke it first, or take another name.`);
    const key = await all.make({ name, scopes, tenant });
    say(key, { name, tenant, scopes, key });
    console.error("This is the only time that the key is shown: the store keeps its hash.");
    return;
  }
  if (verb === "revoke") {
    const revoked = await all.revoke(name);
    say(`The key "${revoked.name}" is revoked. Its open streams end within 5 seconds.`, revoked);
    return;
  }
  for (const key of await all.list()) say(line(key), key);
}

function checkedTenant(tenant: string): string {
  if (!TenantName.safeParse(tenant).success)
    refused(`"${tenant}" is no tenant: 1 to 63 lower-case letters, digits or -.`);
  return tenant;
}

function line({ id, name, tenant, scopes, created_at, revoked_at }: KeyInfo): string {
  const state = revoked_at === null ? "valid" : `revoked ${revoked_at}`;
  return `${id.slice(0, 12)}  ${JSON.stringify(name)}  ${tenant}  ${scopes.join(",")}  made ${created_at}  ${state}`;
}

function refused(message: string): never {
  throw new KnownError("invalid", message);
}
