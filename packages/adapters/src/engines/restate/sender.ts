import { setTimeout as delay } from "node:timers/promises";
import type { Ingress, WakeUp } from "./ingress.ts";

/** Sends wake-ups, and repeats each one until an ingress accepts it. */
export interface Sender {
  /** Resolves when the wake-up was accepted, or is kept here to be sent again. */
  send(wakeUp: WakeUp): Promise<void>;
  /** Like `send`, without waiting for it. */
  offer(wakeUp: WakeUp): void;
  /** Resolves when all requests in progress were answered. */
  stop(): Promise<void>;
}

const AGAIN_MS = 500;
/** How many wake-ups are kept here. Further wake-ups are found by the workers' sweep. */
const KEPT = 10_000;
const STOP_MS = 2000;

export function createSender(deps: { readonly ingress: Ingress; readonly report: (error: unknown) => void }): Sender {
  /** One wake-up for each session is enough: it only says that the session must be checked. */
  const unsent = new Map<string, WakeUp>();
  const underWay = new Set<Promise<void>>();
  let again: NodeJS.Timeout | undefined;
  let isDown = false;

  async function send(wakeUp: WakeUp): Promise<void> {
    try {
      await deps.ingress.send(wakeUp);
      isDown = false;
    } catch (error) {
      // The error is reported once for each outage of Restate.
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
