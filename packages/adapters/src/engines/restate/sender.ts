import { setTimeout as delay } from "node:timers/promises";
import type { Ingress, WakeUp } from "./ingress.ts";

/** Sends wake-ups, and repeats each one until an ingress accepts it. */
export interface Sender {
  /** Resolves when an ingress accepted the wake-up, or after a failed attempt. A failed wake-up is sent again later. */
  send(wakeUp: WakeUp): Promise<void>;
  /** Sends a wake-up like `send`, but returns immediately. */
  offer(wakeUp: WakeUp): void;
  /** Resolves when all requests in progress were answered, or after 2 s. */
  stop(): Promise<void>;
}

const AGAIN_MS = 500;
/** The largest number of wake-ups that are sent again. The workers' sweep finds sessions beyond this number. */
const KEPT = 10_000;
const STOP_MS = 2000;

export function createSender(deps: { readonly ingress: Ingress; readonly report: (error: unknown) => void }): Sender {
  /** Keeps one wake-up for each session, because a wake-up only says that the session must be checked. */
  const unsent = new Map<string, WakeUp>();
  const underWay = new Set<Promise<void>>();
  let again: NodeJS.Timeout | undefined;
  let isDown = false;

  async function send(wakeUp: WakeUp): Promise<void> {
    try {
      await deps.ingress.send(wakeUp);
      isDown = false;
    } catch (error) {
      // During an outage of Restate, only the first error is reported.
      if (!isDown) deps.report(error);
      isDown = true;
      if (unsent.size < KEPT) unsent.set(wakeUp.sessionId, wakeUp);
      again ??= setTimeout(sendAgain, AGAIN_MS).unref();
    }
  }

  function sendAgain(): void {
    again = undefined;
    const waiting = [...unsent.values()];
    unsent.clear();
    for (const wakeUp of waiting) offer(wakeUp);
  }

  function offer(wakeUp: WakeUp): void {
    const sending = send(wakeUp).finally(() => underWay.delete(sending));
    underWay.add(sending);
  }

  return {
    send,
    offer,
    async stop() {
      clearTimeout(again);
      await Promise.race([Promise.all(underWay), delay(STOP_MS, undefined, { ref: false })]);
    },
  };
}
