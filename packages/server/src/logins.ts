import { hash, randomBytes } from "node:crypto";
import type { Records } from "@skein/core";
import { z } from "zod";
import type { Keys, Principal } from "./keys.ts";

export interface LoginsDeps {
  readonly records: Records;
  readonly keys: Keys;
  readonly now: () => number;
}

/**
 * Logins of browsers. A random value in a cookie stands for a key for 12 hours. Only the value's hash and the id of the
 * key are stored.
 */
export interface Logins {
  /** Creates a login for a key. Returns the value of its cookie. */
  begin(principal: Principal): Promise<string>;
  /**
   * Returns the principal of a login, or undefined if the login is unknown or expired, or if its key is no longer
   * valid.
   */
  recognise(value: string): Principal | undefined | Promise<Principal | undefined>;
  /** Whether a previously recognised login is still valid. */
  isValid(loginId: string): Promise<boolean>;
  end(value: string): Promise<void>;
  /** Removes expired logins. */
  sweep(): Promise<void>;
}

/** How long a login lasts, in seconds: 12 hours. */
export const LOGIN_SECONDS = 12 * 3600;

const StoredLogin = z.object({ key_id: z.string(), expires_at: z.iso.datetime() });
type StoredLogin = z.infer<typeof StoredLogin>;

/** Where logins are stored: with the keys, in a tenant that no request can belong to. */
const PLACE = { tenant: "$keys", kind: "login" } as const;
/**
 * How long a recognised login is not looked up again. A login that ended in another process may keep working for this
 * time.
 */
const REMEMBER_MS = 2000;
const REMEMBERED = 10_000;

export function createLogins({ records, keys, now }: LoginsDeps): Logins {
  const known = new Map<string, { readonly login: StoredLogin | undefined; readonly at: number }>();

  function find(loginId: string): Principal | undefined | Promise<Principal | undefined> {
    const remembered = known.get(loginId);
    return remembered && Math.abs(now() - remembered.at) < REMEMBER_MS
      ? principalOf(loginId, remembered.login)
      : lookUp(loginId);
  }

  async function lookUp(loginId: string): Promise<Principal | undefined> {
    const record = await records.get(PLACE.tenant, PLACE.kind, loginId);
    const login = record && StoredLogin.parse(record.value);
    // The size of the cache is limited, because anybody can send unknown cookies.
    if (known.size >= REMEMBERED) known.clear();
    known.set(loginId, { login, at: now() });
    return principalOf(loginId, login);
  }

  function principalOf(loginId: string, login: StoredLogin | undefined) {
    if (!login || Date.parse(login.expires_at) <= now()) return undefined;
    const found = keys.byId(login.key_id);
    const named = (principal: Principal | undefined): Principal | undefined =>
      principal && { ...principal, login: { id: loginId, expiresAt: login.expires_at } };
    return found instanceof Promise ? found.then(named) : named(found);
  }

  return {
    async begin({ keyId }) {
      const value = randomBytes(32).toString("base64url");
      const expires_at = new Date(now() + LOGIN_SECONDS * 1000).toISOString();
      await records.put([{ ...PLACE, id: idOf(value), value: { key_id: keyId, expires_at } }]);
      return value;
    },
    recognise: (value) => find(idOf(value)),
    isValid: async (loginId) => (await find(loginId)) !== undefined,
    async end(value) {
      const id = idOf(value);
      await records.delete(PLACE.tenant, PLACE.kind, id);
      known.delete(id);
    },
    async sweep() {
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await records.list({ ...PLACE, limit: 200, ...(cursor !== undefined && { cursor }) });
        const over = page.items.filter(({ value }) => Date.parse(StoredLogin.parse(value).expires_at) <= now());
        await Promise.all(over.map(({ id }) => records.delete(PLACE.tenant, PLACE.kind, id)));
        cursor = page.cursor;
      }
    },
  };
}

/** Values are random (256 bits), so a plain hash protects them. */
function idOf(value: string): string {
  return hash("sha256", value, "hex");
}
