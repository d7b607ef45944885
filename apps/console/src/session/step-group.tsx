import { plural } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import type { State } from "../ui/state.ts";
import { StateMark } from "../ui/status.tsx";
import { troubleWords } from "./call-words.ts";
import { stateOfStep } from "./step-state.ts";
import type { Item, SessionView, Step } from "./view.ts";

/** Runs with more steps than this are folded, except for the last few steps. */
const LONG = 10;
const LEFT_OPEN = 5;

/**
 * Returns the number of the last folded step of each long run. Called only once, when the session is loaded, so that
 * nothing folds while somebody reads.
 */
export function groupSteps(view: SessionView): Map<string, number> {
  const counts = new Map<string, number>();
  for (const step of view.steps)
    if (step.purpose === "step") counts.set(step.runId, Math.max(step.number, counts.get(step.runId) ?? 0));
  return new Map([...counts].filter(([, count]) => count > LONG).map(([run, count]) => [run, count - LEFT_OPEN]));
}

/** Several steps in one line, with the worst of their states. */
export function StepGroup({ steps, onOpen }: { steps: readonly Item[]; onOpen: () => void }) {
  const all = steps.filter((item): item is Step => item.kind === "step");
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last) return null;
  return (
    <section className="step">
      <span className="bead">
        <StateMark state={worst(all)} />
      </span>
      <button type="button" className="foldrow group" aria-expanded={false} onClick={onOpen}>
        <Icon name="chev" small />
        <b>
          Steps {first.number} to {last.number}
        </b>
        <span className="cut">{summary(all)}</span>
      </button>
    </section>
  );
}

const ORDER: readonly State[] = ["unknown", "failed", "waiting", "running", "cancelled"];

function worst(steps: readonly Step[]): State {
  const states = new Set(steps.map(stateOfStep));
  return ORDER.find((state) => states.has(state)) ?? "done";
}

const VERBS: readonly (readonly [names: RegExp, verb: string, noun: string])[] = [
  [/^Read$/, "read", "file"],
  [/^(Edit|Write|MultiEdit)$/, "changed", "file"],
  [/^Bash$/, "ran", "command"],
  [/^(Grep|Glob|WebSearch)$/, "searched", "time"],
];

/** Summarises the steps, for example as "read 6 files, ran 2 commands". */
function summary(steps: readonly Step[]): string {
  const calls = steps.flatMap((step) => step.calls);
  const parts = VERBS.flatMap(([names, verb, noun]) => {
    const count = calls.filter(({ name }) => names.test(name)).length;
    return count === 0 ? [] : [`${verb} ${plural(count, noun)}`];
  });
  const others = calls.filter(({ name }) => !VERBS.some(([names]) => names.test(name))).length;
  if (others > 0) parts.push(plural(others, parts.length === 0 ? "call" : "other call"));
  const unknown = calls.filter(({ state }) => state === "unknown").length;
  const troubles = troubleWords(calls, ["failed", "denied", "cancelled"]);
  if (troubles !== "") parts.push(troubles);
  if (unknown > 0) parts.push(`${plural(unknown, "effect")} unknown`);
  return parts.join(", ");
}
