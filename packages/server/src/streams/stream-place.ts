import type { Caller } from "../request-context.ts";

/**
 * Counts a stream as open, for its key and for its tenant. Throws `rate_limited`. Returns a function that counts it as
 * closed.
 */
export function openStreamPlace({ shared, principal }: Pick<Caller, "shared" | "principal">): () => void {
  const ofKey = shared.meter.stream(principal.keyId);
  try {
    const ofTenant = shared.places.stream(principal.tenant);
    return () => {
      ofKey();
      ofTenant();
    };
  } catch (error) {
    ofKey();
    throw error;
  }
}
