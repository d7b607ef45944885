import type { Ids } from "@skein/protocol";
import type { Claimed, Runtime } from "../../ports/runtime.ts";
import { LEASE_LOST } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";

/** The behaviour of a call of `drive`: `work` is called for each waiting prompt. */
export interface CountingOptions {
  readonly store: Store;
  readonly ids: Ids;
  /** Does the work of one prompt. The signal asks to stop. */
  readonly work?: (sessionId: string, signal: AbortSignal) => Promise<void> | void;
  /** When the session is due after its prompts (ms since 1970); it sleeps by default. */
  readonly nextAt?: (sessionId: string, drives: number) => number | null;
}

/** A runtime that answers each prompt with one fact, and counts the calls of `drive`. */
export interface CountingRuntime extends Runtime {
  /** The sessions in the order in which their drives began. */
  readonly begun: string[];
  /** When each drive began. */
  readonly times: number[];
  /** The number of sessions that are driven now, and the highest number so far. */
  readonly driving: () => number;
  readonly most: () => number;
  /** Sessions that two workers drove at the same time. */
  readonly doubled: readonly string[];
}

/** Several runtimes of one test may share `active`, to check that only one runtime at a time drives a session. */
export function createCountingRuntime(
  { store, ids, work = () => {}, nextAt = () => null }: CountingOptions,
  active: Set<string> = new Set(),
): CountingRuntime {
  const begun: string[] = [];
  const times: number[] = [];
  const doubled: string[] = [];
  const drives = new Map<string, number>();
  let driving = 0;
  let most = 0;

  async function answerPrompts({ lease, clock }: Claimed, signal: AbortSignal): Promise<void> {
    const { sessionId } = lease;
    for (;;) {
      const events = await store.read(sessionId);
      const seen = events.length;
      const count = (type: string): number => events.filter(({ event_type }) => event_type === type).length;
      const waits = count("prompt.accepted") > count("title.generated");
      if (signal.reason === LEASE_LOST || Date.now() > clock.validUntil) return;
      if (!waits || signal.aborted) {
        const drivesSoFar = drives.get(sessionId) ?? 0;
        // From here on another worker may have the session.
        active.delete(sessionId);
        return store.release(lease, { seen, dueAt: waits ? Date.now() : nextAt(sessionId, drivesSoFar) });
      }
      await work(sessionId, signal);
      if (signal.aborted) continue;
      const answered = { id: ids(), event_type: "title.generated" as const, data: { title: `Answer ${seen}` } };
      await store.append(sessionId, [answered], { lease });
    }
  }

  return {
    begun,
    times,
    doubled,
    driving: () => driving,
    most: () => most,
    async drive(claimed, signal) {
      const { sessionId } = claimed.lease;
      if (active.has(sessionId)) doubled.push(sessionId);
      active.add(sessionId);
      begun.push(sessionId);
      times.push(Date.now());
      drives.set(sessionId, (drives.get(sessionId) ?? 0) + 1);
      driving += 1;
      most = Math.max(most, driving);
      // The memory store answers at once, so without this pause timers would never fire.
      await new Promise((resolve) => setTimeout(resolve, 1));
      try {
        await answerPrompts(claimed, signal);
      } finally {
        driving -= 1;
      }
    },
  };
}
