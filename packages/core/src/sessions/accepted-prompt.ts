import { KnownError } from "@skein/protocol";
import type { Appended } from "../ports/store.ts";

/** An accepted prompt. The prompt is stored durably before a function returns this value. */
export interface Accepted {
  readonly sessionId: string;
  readonly messageId: string;
  readonly runId: string;
  readonly sequence: number;
  readonly acceptedAt: string;
  readonly repeated: boolean;
}

/** Makes the result from the stored event, so that a repeated request gets the same result. */
export function acceptedOf({ events, repeated }: Appended): Accepted {
  const stored = events.find(({ event_type }) => event_type === "prompt.accepted");
  if (stored?.event_type !== "prompt.accepted")
    throw new KnownError("key_reused", "The idempotency key was used before for a request that is not a prompt.", {
      details: { event_type: events[0]?.event_type, sequence: events[0]?.sequence },
    });
  const { message_id: messageId, run_id: runId } = stored.data;
  const { session_id: sessionId, sequence, created_at: acceptedAt } = stored;
  return { sessionId, messageId, runId, sequence, acceptedAt, repeated };
}
