import { KnownError, type NewEvent, isKnownError } from "@skein/protocol";
import type { AppendOptions, Appended, Store } from "../ports/store.ts";

/** A sequence that no log has. An append that expects it succeeds only if it repeats an earlier append. */
export const NOWHERE = Number.MAX_SAFE_INTEGER;

/**
 * Rejects a prompt, because too many prompts wait in the session. Only a repetition of an accepted request succeeds.
 */
export async function appendToFullQueue(
  store: Store,
  {
    id,
    events,
    options,
  }: { readonly id: string; readonly events: readonly NewEvent[]; readonly options: AppendOptions },
  mostQueued: number,
): Promise<Appended> {
  try {
    return await store.append(id, events, { ...options, expect: NOWHERE });
  } catch (error) {
    if (!isKnownError(error, "conflict")) throw error;
    throw new KnownError(
      "conflict",
      `Session ${id} has ${mostQueued} waiting prompts, and more are not allowed. Send the prompt later, or cancel a waiting prompt.`,
    );
  }
}
