import { randomBytes } from "node:crypto";
import type { Records } from "@skein/core";
import { isKnownError } from "@skein/protocol";
import { z } from "zod";

const Stored = z.object({ secret: z.string() });

/**
 * Returns the secret of a tenant, which signs the calls of hooks without a secret of their own. All servers of a store
 * use the same secret.
 */
export async function hookSecret(records: Records, tenant: string): Promise<string> {
  const place = { tenant, kind: "hook_secret", id: "current" } as const;
  const known = await records.get(place.tenant, place.kind, place.id);
  if (known) return Stored.parse(known.value).secret;
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  try {
    await records.put([{ ...place, value: { secret }, expect: 0 }]);
    return secret;
  } catch (error) {
    // Another server created the secret at the same moment.
    if (isKnownError(error, "already_exists", "conflict")) return hookSecret(records, tenant);
    throw error;
  }
}
