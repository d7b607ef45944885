import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Records } from "@skein/core";
import { KnownError, Line } from "@skein/protocol";
import { z } from "zod";

export const KeyScope = z.enum(["read", "run", "sql", "admin"]);
export type KeyScope = z.infer<typeof KeyScope>;

export const TenantName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "A tenant has 1 to 63 lower-case letters, digits or -.");

/** The tenant of the operator, who decides what others may do. */
export const OPERATOR = "default";

const StoredKey = z.object({
  name: z.string(),
  /** Who is responsible for the key: a person or a team. */
  owner: z.string().nullable().default(null),
  scopes: z.array(KeyScope),
  tenant: z.string(),
  created_at: z.string(),
  /** When the key expires; null if it does not. */
  expires_at: z.string().nullable().default(null),
  revoked_at: z.string().nullable(),
  /** The id of the key that replaced this key in a rotation. */
  replaced_by: z.string().nullable().default(null),
});
type StoredKey = z.infer<typeof StoredKey>;

/** The caller of a request. */
export interface Principal {
  /** The hash of the key. The key is not stored. */
  readonly keyId: string;
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly KeyScope[];
  /** The person or team that is responsible for the key. */
  readonly owner?: string | null;
  /** When the key expires; null if it does not. */
  readonly expiresAt?: string | null;
  /** The login of a browser that sent a cookie instead of the key. */
  readonly login?: { readonly id: string; readonly expiresAt: string };
}

/** The stored data of a key. The text of the key is shown only once, when the key is created. */
export interface KeyInfo extends StoredKey {
  readonly id: string;
}

interface NewKey {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly tenant: string;
  readonly owner?: string | null | undefined;
  /** ISO time in the future. */
  readonly expiresAt?: string | null | undefined;
  /** The text of the key, if the operator chose it. */
  readonly key?: string;
}

/** Makes, lists, rotates, revokes and recognises API keys. Only hashes of keys are stored. */
export interface Keys {
  make(input: NewKey): Promise<string>;
  /**
   * Returns all keys, newest first, even revoked and expired keys. With `tenant`, returns only the keys of this tenant.
   */
  list(tenant?: string): Promise<readonly KeyInfo[]>;
  /** Every key that is neither revoked nor expired. */
  valid(): Promise<readonly KeyInfo[]>;
  /**
   * Makes a key with the same name, owner, scopes and tenant. The old key stays valid for `overlapMs`, so that its
   * users can switch. Unless `expiresAt` is given, the time from creation to expiry is the same as for the old key.
   */
  rotate(id: string, options: { readonly overlapMs: number; readonly expiresAt?: string | null }): Promise<string>;
  /** Revokes the key with this name, or with an id that begins with these 6 or more characters. */
  revoke(idOrName: string): Promise<KeyInfo>;
  /**
   * Returns the principal of this key, or undefined if the key is unknown, expired or revoked. The answer is
   * synchronous for a recently recognised key.
   */
  recognise(key: string, connection?: object): Principal | undefined | Promise<Principal | undefined>;
  /** Whether the store has this key, even if the key is revoked or expired. */
  has(key: string): Promise<boolean>;
  /** Returns the reason why a key was not recognised, as a sentence for its sender. */
  problemWith(key: string): string;
  /** The principal of the key with this id; undefined if the key is unknown, expired or revoked. */
  byId(keyId: string): Principal | undefined | Promise<Principal | undefined>;
  /** Whether a key that was recognised before is still valid. */
  isValid(keyId: string): Promise<boolean>;
}

/** Where keys are stored: in a tenant that no request can belong to. */
const PLACE = { tenant: "$keys", kind: "api_key" } as const;
/** How long a recognised key is not looked up again. A revoked key may keep working for this time. */
const REMEMBER_MS = 2000;
const REMEMBERED = 10_000;

const ALLOWS: Readonly<Record<KeyScope, readonly KeyScope[]>> = {
  read: ["read"],
  run: ["read", "run"],
  sql: ["read", "sql"],
  admin: ["read", "run", "sql", "admin"],
};

export function allows(principal: Pick<Principal, "scopes">, scope: KeyScope): boolean {
  return principal.scopes.some((given) => ALLOWS[given].includes(scope));
}

/**
 * Whether a caller sees the system prompts of agents. A caller who may run an agent could ask the agent for its prompt.
 */
export function seesPrompts(caller: Pick<Principal, "scopes">): boolean {
  return allows(caller, "run");
}

/** Whether a key is neither revoked nor expired. */
export function isGood({ revoked_at, expires_at }: Pick<KeyInfo, "revoked_at" | "expires_at">, now: number): boolean {
  return revoked_at === null && (expires_at === null || Date.parse(expires_at) > now);
}

export function createKeys({ records, now = Date.now }: { records: Records; now?: () => number }): Keys {
  const known = new Map<string, { readonly stored: StoredKey | undefined; readonly at: number }>();

  /**
   * The last key of each connection with its hash. A connection usually sends the same key again, and needs no second
   * hash.
   */
  const sent = new WeakMap<object, { readonly key: string; readonly keyId: string }>();

  function idOf(key: string, connection: object | undefined): string {
    const last = connection && sent.get(connection);
    if (last?.key === key) return last.keyId;
    const keyId = keyIdOf(key);
    if (connection) sent.set(connection, { key, keyId });
    return keyId;
  }

  function find(keyId: string): Principal | undefined | Promise<Principal | undefined> {
    const remembered = known.get(keyId);
    // The absolute difference is used, because a clock that goes back must not keep a revoked key valid.
    return remembered && Math.abs(now() - remembered.at) < REMEMBER_MS
      ? principalOf(remembered.stored, keyId)
      : lookUp(keyId);
  }

  async function lookUp(keyId: string): Promise<Principal | undefined> {
    const record = await records.get(PLACE.tenant, PLACE.kind, keyId);
    const isSame = record && timingSafeEqual(Buffer.from(record.id), Buffer.from(keyId));
    const stored = isSame ? StoredKey.parse(record.value) : undefined;
    // The size of the cache is limited, because anybody can send unknown keys.
    if (known.size >= REMEMBERED) known.clear();
    known.set(keyId, { stored, at: now() });
    return principalOf(stored, keyId);
  }

  function principalOf(stored: StoredKey | undefined, keyId: string): Principal | undefined {
    if (!stored || !isGood(stored, now())) return undefined;
    const { name, tenant, scopes, owner, expires_at } = stored;
    return { keyId, name, tenant, scopes, owner, expiresAt: expires_at };
  }

  async function list(tenant?: string): Promise<readonly KeyInfo[]> {
    const all: KeyInfo[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await records.list({ ...PLACE, limit: 200, ...(cursor !== undefined && { cursor }) });
      all.push(...page.items.map(({ id, value }) => ({ id, ...StoredKey.parse(value) })));
      cursor = page.cursor;
    }
    return all
      .filter((key) => tenant === undefined || key.tenant === tenant)
      .sort((one, other) => other.created_at.localeCompare(one.created_at));
  }

  function stored({ name, scopes, tenant, owner = null, expiresAt = null }: Omit<NewKey, "key">): StoredKey {
    if (expiresAt !== null && !(Date.parse(expiresAt) > now()))
      throw new KnownError("invalid", "expires_at: Expected a time in the future.");
    return {
      name: Line.min(1).max(100).parse(name),
      owner: Line.min(1).max(200).nullable().parse(owner),
      scopes: z.array(KeyScope).min(1).parse(scopes),
      tenant: TenantName.parse(tenant),
      created_at: new Date(now()).toISOString(),
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      revoked_at: null,
      replaced_by: null,
    };
  }

  return {
    async make({ key = newKey(), ...input }) {
      const id = keyIdOf(key);
      await records.put([{ ...PLACE, id, value: stored(input) }]);
      known.delete(id);
      return key;
    },
    list,
    valid: async () => (await list()).filter((key) => isGood(key, now())),
    async rotate(id, { overlapMs, expiresAt }) {
      const record = await records.get(PLACE.tenant, PLACE.kind, id);
      if (!record) throw new KnownError("not_found", "There is no such key.");
      const old = StoredKey.parse(record.value);
      if (!isGood(old, now()))
        throw new KnownError("conflict", `The key "${old.name}" is revoked or expired. Make a new one instead.`);
      if (old.replaced_by !== null)
        throw new KnownError("conflict", `The key "${old.name}" was rotated before. Rotate the key that replaced it.`);
      const key = newKey();
      const next = stored({ ...old, expiresAt: expiresAt === undefined ? sameLifetime(old, now()) : expiresAt });
      const last = Math.min(now() + overlapMs, old.expires_at === null ? Infinity : Date.parse(old.expires_at));
      const value = { ...old, expires_at: new Date(last).toISOString(), replaced_by: keyIdOf(key) };
      await records.put([
        { ...PLACE, id: keyIdOf(key), value: next, expect: 0 },
        { ...PLACE, id, value, expect: record.version },
      ]);
      known.delete(id);
      return key;
    },
    async revoke(idOrName) {
      const matching = (await list()).filter(
        (key) =>
          key.revoked_at === null && (key.name === idOrName || (idOrName.length >= 6 && key.id.startsWith(idOrName))),
      );
      const [found] = matching;
      if (!found) throw new KnownError("not_found", `There is no key "${idOrName}" that could be revoked.`);
      if (matching.length > 1)
        throw new KnownError("invalid", `"${idOrName}" is the name of ${matching.length} keys. Use the id.`);
      const { id, ...value } = { ...found, revoked_at: new Date(now()).toISOString() };
      await records.put([{ ...PLACE, id, value }]);
      known.delete(id);
      return { id, ...value };
    },
    recognise: (key, connection) => find(idOf(key, connection)),
    has: async (key) => (await records.get(PLACE.tenant, PLACE.kind, keyIdOf(key))) !== undefined,
    problemWith(key) {
      const found = known.get(keyIdOf(key))?.stored;
      if (!found) return "Unknown API key. `skein keys make NAME` makes a new one.";
      if (found.revoked_at !== null)
        return `This API key was revoked on ${found.revoked_at}. Ask an admin for a new one.`;
      return `This API key expired on ${found.expires_at}. Ask an admin for a new one.`;
    },
    byId: find,
    isValid: async (keyId) => (await find(keyId)) !== undefined,
  };
}

/** Returns when a new key with the lifetime of this key expires. */
function sameLifetime({ created_at, expires_at }: StoredKey, now: number): string | null {
  if (expires_at === null) return null;
  return new Date(now + Date.parse(expires_at) - Date.parse(created_at)).toISOString();
}

function newKey(): string {
  return `skein_${randomBytes(32).toString("base64url")}`;
}

/** The id of a key is its hash. Keys are random (256 bits), so a plain hash protects them. */
export function keyIdOf(key: string): string {
  return hash("sha256", key, "hex");
}
