import { KnownError } from "@skein/protocol";
import { z } from "zod";
import type { Records } from "../ports/records.ts";

/**
 * Stores secrets under names. A model or a service has only the reference `secret:NAME`, which is safe to show and to
 * log. The secret is in the records of the tenant, sealed if the server has a key for secrets.
 */
export interface Secrets {
  /** Stores a secret under a name, replacing an earlier one. Returns its reference. */
  put(tenant: string, name: string, text: string): Promise<string>;
  /**
   * Returns the secret of a reference. Throws `not_found`, or `secret_sealed` if this server does not have the key of
   * the vault.
   */
  get(tenant: string, reference: string): Promise<string>;
  /** Returns the names of a tenant's secrets, and when each secret was set. */
  list(tenant: string): Promise<readonly { readonly name: string; readonly updatedAt: string }[]>;
  /** Deletes a secret. Returns whether it existed. */
  delete(tenant: string, reference: string): Promise<boolean>;
}

const KIND = "secret";
const Name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,99}$/, "Expected a name of 1 to 100 letters, digits, _, . and -.");
const Stored = z.object({ text: z.string() });
const PREFIX = "secret:";

export function createSecrets(records: Records): Secrets {
  return {
    async put(tenant, name, text) {
      const id = Name.parse(name);
      await records.put([{ tenant, kind: KIND, id, value: { text } }]);
      return PREFIX + id;
    },
    async get(tenant, reference) {
      const record = await records.get(tenant, KIND, nameIn(reference));
      if (!record) throw new KnownError("not_found", `There is no secret "${nameIn(reference)}". Set it again.`);
      return Stored.parse(record.value).text;
    },
    async list(tenant) {
      const all: { name: string; updatedAt: string }[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await records.list({ tenant, kind: KIND, limit: 200, ...(cursor !== undefined && { cursor }) });
        all.push(...page.items.map(({ id, updatedAt }) => ({ name: id, updatedAt })));
        cursor = page.cursor;
      }
      return all.sort((one, other) => one.name.localeCompare(other.name));
    },
    delete: (tenant, reference) => records.delete(tenant, KIND, nameIn(reference)),
  };
}

function nameIn(reference: string): string {
  return reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : reference;
}
