import { Icon, type IconName } from "./icon.tsx";
import type { State } from "./state.ts";

const WORDS: Readonly<Record<State, string>> = {
  running: "Running",
  waiting: "Waits for you",
  done: "Done",
  failed: "Failed",
  unknown: "Effect unknown",
  cancelled: "Cancelled",
  queued: "Queued",
  idle: "Idle",
};

/** States that need no attention. Their words stay grey. */
const CALM: ReadonlySet<State> = new Set<State>(["done", "cancelled", "queued", "idle"]);

export function StateIcon({ state }: { state: State }) {
  const name: IconName = state;
  return <Icon name={name} className={state === "running" ? "spin" : ""} />;
}

/** The state as shape and colour; its word is only for screen readers. */
export function StateMark({ state, word = WORDS[state] }: { state: State; word?: string }) {
  return (
    <span className={`st ${state}`} title={word}>
      <StateIcon state={state} />
      <span className="sr">{word}</span>
    </span>
  );
}

export function StateWord({
  state,
  word = WORDS[state],
  pill = false,
}: {
  state: State;
  word?: string;
  pill?: boolean;
}) {
  return (
    <span className={`st ${state} ${pill ? "pill" : ""}`}>
      <StateIcon state={state} />
      <span className={CALM.has(state) && !pill ? "w-calm" : "w"}>{word}</span>
    </span>
  );
}
