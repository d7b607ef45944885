import type { FactData, JsonObject } from "@skein/protocol";
import { derivedId } from "../../sessions/derived-id.ts";
import { type RunState, TOOLS_NOTICED } from "../../log/state.ts";
import type { FactOf } from "./place.ts";

type Run = Pick<RunState, "runId">;

/** Makes the fact `runtime.started` for a run. `info` is what the runtime reported: model, tools, servers. */
export function runtimeStarted({ runId }: Run, info: JsonObject): FactOf<"runtime.started"> {
  return { event_type: "runtime.started", data: { run_id: runId, info } };
}

/** Makes the fact `runtime.noticed`: the runtime reported something besides answers and results. */
export function runtimeNoticed(
  { runId }: Run,
  { messageId, subtype, notice }: { readonly messageId: string; readonly subtype: string; readonly notice: JsonObject },
): FactOf<"runtime.noticed"> {
  return { event_type: "runtime.noticed", data: { run_id: runId, message_id: messageId, subtype, notice } };
}

/** Makes a notice about the tools, for people who read the log. */
export function toolsNoticed(run: Run, text: string): FactOf<"runtime.noticed"> {
  const messageId = derivedId("notice", run.runId, text);
  return runtimeNoticed(run, { messageId, subtype: TOOLS_NOTICED, notice: { text } });
}

export function hookCalled(data: FactData<"hook.called">): FactOf<"hook.called"> {
  return { event_type: "hook.called", data };
}

/**
 * Makes a notice that a worker could not run the session. `missing` is a sentence for people about what the worker
 * lacks.
 */
export function sessionUnserved(said: {
  runId: string;
  messageId: string;
  missing: string;
}): FactOf<"runtime.noticed"> {
  const { runId, messageId, missing } = said;
  return runtimeNoticed({ runId }, { messageId, subtype: "unserved", notice: { text: missing } });
}
