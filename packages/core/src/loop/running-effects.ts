import type { Fact } from "@skein/protocol";
import type { Effect } from "./decision.ts";

/** The running effects. An effect is started once. It is aborted when the decision no longer lists it. */
export interface RunningEffects {
  /** Starts the wanted effects that are not running, and aborts the running effects that are not wanted. */
  match(wanted: readonly Effect[]): void;
  /** Returns the facts of one ended effect: the effect that ended first. Undefined if no ended effect is left. */
  take(): readonly Fact[] | undefined;
  /**
   * Resolves when an effect has ended or `nudge` was called. If an effect throws, all other effects are aborted, and
   * `changed` rejects with the error.
   */
  changed(): Promise<void>;
  /** Wakes `changed`, because an event has arrived. */
  nudge(): void;
  /** Whether an effect is running, or has ended with facts that `take` has not returned yet. */
  busy(): boolean;
  abortAll(): void;
}

export function createRunningEffects(
  start: (effect: Effect, signal: AbortSignal) => Promise<readonly Fact[]>,
): RunningEffects {
  const running = new Map<string, AbortController>();
  const ended: { readonly key: string; readonly stop: AbortController; readonly facts: readonly Fact[] }[] = [];
  let nudged = false;
  let failure: Error | undefined;
  let wake = (): void => {};

  function begin(effect: Effect): void {
    const stop = new AbortController();
    running.set(effect.key, stop);
    const over = (facts: readonly Fact[]): void => {
      // The facts of an aborted effect are dropped, because its run or its step has ended.
      if (running.get(effect.key) !== stop) return;
      // An effect counts as running until its facts are taken, because decisions list it until then.
      ended.push({ key: effect.key, stop, facts });
      wake();
    };
    void start(effect, stop.signal).then(over, crash);
  }

  function crash(error: unknown): void {
    failure ??= error instanceof Error ? error : new Error(String(error));
    abortAll();
    wake();
  }

  function abortAll(): void {
    for (const stop of running.values()) stop.abort();
    running.clear();
  }

  return {
    match(wanted) {
      const keys = new Set(wanted.map(({ key }) => key));
      for (const [key, stop] of running) {
        if (keys.has(key)) continue;
        running.delete(key);
        stop.abort();
      }
      for (const effect of wanted) if (!running.has(effect.key)) begin(effect);
    },
    take() {
      for (;;) {
        const next = ended.shift();
        if (!next) return undefined;
        if (running.get(next.key) !== next.stop) continue;
        running.delete(next.key);
        return next.facts;
      }
    },
    async changed() {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (ended.length > 0 || nudged || failure) resolve();
      });
      nudged = false;
      wake = () => {};
      if (failure) throw failure;
    },
    nudge() {
      nudged = true;
      wake();
    },
    busy: () => running.size > 0,
    abortAll,
  };
}
