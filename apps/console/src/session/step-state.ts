import type { State } from "../ui/state.ts";
import type { Step } from "./view.ts";

/** Returns the state of a step. A failed call does not make the step fail. */
export function stateOfStep(step: Step): State {
  if (step.state === "failed" || step.state === "lost") return "failed";
  if (step.state === "interrupted") return "cancelled";
  const states = new Set(step.calls.map(({ state }) => state));
  if (states.has("unknown")) return "unknown";
  if (states.has("waiting")) return "waiting";
  if (step.state === "running" || states.has("running")) return "running";
  return "done";
}
