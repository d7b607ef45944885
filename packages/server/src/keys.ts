import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Records, StoredRecord } from "@skein/core";
import { KnownError, Line } from "@skein/protocol";
import { z } from "zod";

export const KeyScope = z.enum(["read", "run", "sql", "admin"]);
export type KeyScope = z.infer<typeof KeyScope>;

export const TenantName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "A tenant has 1 to 63 lower-case letters, digits or -.");

const StoredKey = z.object({
  name: z.string(),
  scopes: z.array(KeyScope),
  tenant: z.string(),
  created_at: z.string(),
  revoked_at: z.string().nullable(),
});

/** The caller of a request. */
export interface Principal {
  /** The hash of the key. The key itself is not stored. */
  readonly keyId: string;
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly KeyScope[];
  /** The login of a browser that sent a cookie instead of a key. */
  readonly login?: { readonly id: string; readonly expiresAt: string };
}

/** A key in a list. The key itself is shown only once, when it is created. */
export interface KeyInfo extends z.infer<typeof StoredKey> {
  readonly id: string;
}

/** Creates, lists, revokes and recognises API keys. They are stored as hashes. */
export interface Keys {
  make(input: { name: string; scopes: readonly KeyScope[]; tenant: string; key?: string }): Promise<string>;
  list(): Promise<readonly KeyInfo[]>;
  /** Revokes the key with this name, or whose id starts with these characters. */
  revoke(idOrName: string): Promise<KeyInfo>;
  /** The owner of a key; undefined if the key is unknown or revoked. Synchronous for a key that was recognised within 2 s. */
  recognise(key: string, connection?: object): Principal | undefined | Promise<Principal | undefined>;
  /** The owner of the key with this id; undefined if the key was revoked. */
  byId(keyId: string): Principal | undefined | Promise<Principal | undefined>;
  /** Whether a key that was recognised before is still valid. */
  isValid(keyId: string): Promise<boolean>;
}

/** Where keys are stored: in a tenant that no request can belong to. */
const PLACE = { tenant: "$keys", kind: "api_key" } as const;
/** How long a recognised key is not looked up again. A revoked key keeps working for that long. */
const REMEMBER_MS = 2000;
const REMEMBERED = 10_000;

const ALLOWS: Readonly<Record<KeyScope, readonly KeyScope[]>> = {
  read: ["read"],
  run: ["read", "run"],
  sql: ["read", "sql"],
  admin: ["read", "run", "sql", "admin"],
};

export function allows(principal: Principal, scope: KeyScope): boolean {
  return principal.scopes.some((given) => ALLOWS[given].includes(scope));
}

export function createKeys({ records, now = Date.now }: { records: Records; now?: () => number }): Keys {
  const known = new Map<string, { readonly principal: Principal | undefined; readonly at: number }>();

  /** The last key of each connection with its hash: a connection usually sends the same key again, and need not be hashed again. */
  const sent = new WeakMap<object, { readonly key: string; readonly keyId: string }>();

  function idOf(key: string, connection: object | undefined): string {
    const last = connection && sent.get(connection);
    if (last?.key === key) return last.keyId;
    const keyId = hashOf(key);
    if (connection) sent.set(connection, { key, keyId });
    return keyId;
  }

  function find(keyId: string): Principal | undefined | Promise<Principal | undefined> {
    const remembered = known.get(keyId);
    // The absolute difference: otherwise a clock that goes back would keep a revoked key valid.
    return remembered && Math.abs(now() - remembered.at) < REMEMBER_MS ? remembered.principal : lookUp(keyId);
  }

  async function lookUp(keyId: string): Promise<Principal | undefined> {
    const record = await records.get(PLACE.tenant, PLACE.kind, keyId);
    const principal = record && principalOf(record, keyId);
    // Bounded, because anybody can send unknown keys.
    if (known.size >= REMEMBERED) known.clear();
    known.set(keyId, { principal, at: now() });
    return principal;
  }

  async function list(): Promise<readonly KeyInfo[]> {
    const { items } = await records.list({ ...PLACE, limit: 1000 });
    return items.map((record) => ({ id: record.id, ...StoredKey.parse(record.value) }));
  }

  return {
    async make({ name, scopes, tenant, key = `skein_${randomBytes(32).toString("base64url")}` }) {
      const value = {
        name: Line.min(1).max(100).parse(name),
        scopes: z.array(KeyScope).min(1).parse(scopes),
        tenant: TenantName.parse(tenant),
        created_at: new Date(now()).toISOString(),
        revoked_at: null,
      };
      const id = hashOf(key);
      await records.put([{ ...PLACE, id, value }]);
      known.delete(id);
      return key;
    },
    list,
    async revoke(idOrName) {
      const matching = (await list()).filter(
        (key) =>
          key.revoked_at === null && (key.name === idOrName || (idOrName.length >= 6 && key.id.startsWith(idOrName))),
      );
      const [found] = matching;
      if (!found) throw new KnownError("not_found", `There is no key "${idOrName}" that could be revoked.`);
      if (matching.length > 1)
        throw new KnownError("invalid", `"${idOrName}" means ${matching.length} keys. Use the id.`);
      const { id, ...value } = { ...found, revoked_at: new Date(now()).toISOString() };
      await records.put([{ ...PLACE, id, value }]);
      known.delete(id);
      return { id, ...value };
    },
    recognise: (key, connection) => find(idOf(key, connection)),
    byId: find,
    isValid: async (keyId) => (await find(keyId)) !== undefined,
  };
}

function principalOf(record: StoredRecord, keyId: string): Principal | undefined {
  const { name, tenant, scopes, revoked_at } = StoredKey.parse(record.value);
  if (revoked_at !== null) return undefined;
  if (!timingSafeEqual(Buffer.from(record.id), Buffer.from(keyId))) return undefined;
  return { keyId, name, tenant, scopes };
}

/** Keys are random (256 bits), so a plain hash protects them. */
function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}
