import type { Event } from "@skein/protocol";
import type { Live, LiveFrame } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * The facts of the session, until the signal aborts. A reader that begins in the middle calls `joined` when it has caught
   * up, with the run that is under way there: the log has told of its step before the reader came.
   */
  readonly facts: (signal: AbortSignal, joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Which frames are wanted; all of them unless told. */
  readonly isWanted?: (frame: LiveFrame) => boolean;
}

/**
 * A session as it happens: the facts of its log, and in between what its steps say while they are made, as many frames of
 * one attempt at once as there are.
 *
 * It is read at the reader's pace: nothing of the log waits here but the next event.
 */
export async function* followLive(
  { live, sessionId, facts, isWanted = () => true }: FollowLive,
  signal?: AbortSignal,
): AsyncGenerator<Event | readonly LiveFrame[]> {
  const order = createLiveOrder();
  const stop = new AbortController();
  let wake = (): void => {};
  let arrived: IteratorResult<Event, unknown> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let asking: Promise<void> | undefined;
  const joined = (runId: string | null): void => {
    order.joined(runId);
    wake();
  };
  const unsubscribe = live.subscribe(sessionId, (frame) => {
    if (!isWanted(frame)) return;
    order.frame(frame);
    wake();
  });
  const whole = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const events = facts(whole, joined)[Symbol.asyncIterator]();
  const ask = async (): Promise<void> => {
    try {
      arrived = await events.next();
    } catch (error) {
      failure = { error };
    }
    asking = undefined;
    wake();
  };
  try {
    for (;;) {
      const due = order.due();
      if (due.length > 0) yield due;
      else if (failure) throw failure.error;
      else if (arrived?.done) return;
      else if (arrived) {
        const { value } = arrived;
        arrived = undefined;
        yield value;
        order.fact(value);
      } else
        await new Promise<void>((resolve) => {
          wake = resolve;
          asking ??= ask();
        });
    }
  } finally {
    unsubscribe();
    stop.abort();
    await asking;
  }
}
