import type { Records } from "@skein/core";
import { z } from "zod";

/**
 * The time of the last use of each API key, to the minute. It is stored separately from the key, so that recording a
 * use never conflicts with a change of the key.
 */
export interface KeyUses {
  /** Records that a key was used, at most once a minute. Runs in the background. */
  used(keyId: string): void;
  /** When a key was used last; null if it never was. */
  lastUse(keyId: string): Promise<string | null>;
}

const PLACE = { tenant: "$keys", kind: "key_use" } as const;
const Use = z.object({ at: z.iso.datetime() });
const WRITE_MS = 60_000;
const REMEMBERED = 10_000;

export function createKeyUses({ records, now }: { readonly records: Records; readonly now: () => number }): KeyUses {
  const written = new Map<string, number>();
  return {
    used(keyId) {
      const at = now();
      if (at - (written.get(keyId) ?? -WRITE_MS) < WRITE_MS) return;
      if (written.size >= REMEMBERED) written.clear();
      written.set(keyId, at);
      // If the store is unavailable, the request itself reports this. Only the record of this use is lost.
      records
        .put([{ ...PLACE, id: keyId, value: { at: new Date(at).toISOString() } }])
        .catch(() => written.delete(keyId));
    },
    async lastUse(keyId) {
      const record = await records.get(PLACE.tenant, PLACE.kind, keyId);
      return record ? Use.parse(record.value).at : null;
    },
  };
}
