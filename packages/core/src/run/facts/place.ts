import type { Fact, FactType } from "@skein/protocol";
import type { RunState } from "../../log/state.ts";

/** A fact of one type. */
export type FactOf<Type extends FactType> = Extract<Fact, { readonly event_type: Type }>;

/** Where in a run something happened. */
export type Place = Pick<RunState, "runId" | "step">;

export function inStep({ runId, step }: Place): { readonly run_id: string; readonly step: number } {
  return { run_id: runId, step };
}
