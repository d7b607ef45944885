import type { Caller } from "../request-context.ts";

/**
 * Counts a new stream for its key and its tenant. Throws `rate_limited` at a limit. Returns a function that counts the
 * stream as closed.
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
