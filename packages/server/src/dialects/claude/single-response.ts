import { type SingleResponse, type StreamEvent, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext } from "../../request-context.ts";
import type { AskedRun } from "./requested-run.ts";
import { sendRun } from "./run-frames.ts";
import { stopRun } from "./stream.ts";

/**
 * Waits until a run is over or needs an answer of a person or the client, and returns all its messages in one response.
 */
export async function singleResponse(
  call: RequestContext,
  run: AskedRun,
  { stopOnDisconnect }: { stopOnDisconnect: boolean },
): Promise<SingleResponse> {
  const { sessions, shared } = call;
  const gone = new AbortController();
  call.reply.raw.once("close", () => gone.abort());
  const late = AbortSignal.timeout(shared.limits.answerMs);
  const frames: StreamEvent[] = [];
  // The prompt is stored, so the memory for the request's body is released before the run ends.
  call.request.bodyDone();
  const sink = {
    signal: AbortSignal.any([gone.signal, late, shared.stopping]),
    frame: (frame: StreamEvent) => frames.push(frame) > 0 && frame.event !== "question",
    partial: () => {},
  };
  const isOver = await sendRun({ ...shared.deps, sessions, run: { ...run, partials: false } }, sink);
  if (gone.signal.aborted && stopOnDisconnect) await stopRun(call, run);
  const goesOn = `and the run continues. Follow the run at /api/v1/sessions/${run.sessionId}/stream.`;
  const details = { session_id: run.sessionId, run_id: run.runId };
  if (late.aborted)
    throw new ApiError("REQUEST_TIMEOUT", `The run is not over after ${shared.limits.answerMs / 1000} s, ${goesOn}`, {
      details,
    });
  if (shared.stopping.aborted && !isOver)
    throw new ApiError("closed", `The server is stopping, ${goesOn}`, { details });
  const session = await sessions.get(run.sessionId).catch((error: unknown) => {
    if (!isKnownError(error, "not_found")) throw error;
    throw new ApiError("SESSION_NOT_FOUND", `Session ${run.sessionId} was deleted.`);
  });
  return responseOf(frames, run.sessionId, session.model);
}

function responseOf(frames: readonly StreamEvent[], sessionId: string, fallback: string): SingleResponse {
  const of = <Name extends StreamEvent["event"]>(name: Name) =>
    frames
      .filter((frame) => frame.event === name)
      .map(({ data }) => data as Extract<StreamEvent, { event: Name }>["data"]);
  const [init] = of("init");
  const [result] = of("result");
  const [error] = of("error");
  if (error?.code === "STRUCTURED_OUTPUT_VALIDATION_ERROR")
    throw new ApiError("STRUCTURED_OUTPUT_VALIDATION_ERROR", error.message, { details: { session_id: sessionId } });
  const said = of("message").filter(({ type, parent_tool_use_id }) => type === "assistant" && !parent_tool_use_id);
  return {
    ...(error && { error }),
    session_id: sessionId,
    model: init?.model ?? fallback,
    content: said.flatMap(({ content }) => content),
    is_error: result?.is_error ?? false,
    is_complete: result?.is_complete ?? false,
    stop_reason: result?.stop_reason ?? null,
    duration_ms: result?.duration_ms ?? 0,
    num_turns: result?.num_turns ?? said.length,
    total_cost_usd: result?.total_cost_usd ?? null,
    usage: result?.usage ?? null,
    result: result?.result ?? null,
    structured_output: result?.structured_output ?? null,
    questions: of("question"),
    ...(result?.simulated && { simulated: true as const }),
  };
}
