import {
  type Batch,
  LOST_RESULT,
  type RunEnd,
  type RunState,
  outOfMoneyEnd,
  cancellation,
  endWith,
  finalResponse,
  misfitOf,
  resultAtEnd,
  runCompleted,
  runFailed,
  stopReasonOf,
} from "@skein/core";
import { type JsonObject, type Message, isToolUse, picosOfCall } from "@skein/protocol";
import type { SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { budgetEnd } from "./budget.ts";
import { closeCalls } from "./call-results.ts";
import { optionsOf } from "./options.ts";
import type { SessionModels } from "./session-models.ts";

/** Ends the run as Claude Code reported. `is_error` decides whether the run failed, even if `subtype` is "success". */
export function endRun(
  said: SDKResultMessage,
  batch: Batch,
  { unpaid, termsOf }: Pick<SessionModels, "termsOf"> & { readonly unpaid?: (() => string | undefined) | undefined },
): void {
  const { state, now } = batch;
  const run = state.run as RunState;
  const result = withOwnCosts(said, termsOf);
  if (said.is_error) {
    const refused = unpaid?.();
    const own =
      cancellation(state, run) ??
      budgetEnd(state, { now, termsOf }) ??
      (refused === undefined ? undefined : outOfMoneyEnd(refused));
    return failRun(own ?? endOf(said), batch, result);
  }
  closeCalls(batch, () => LOST_RESULT);
  const output = said.subtype === "success" ? said.structured_output : undefined;
  const untyped = untypedEnd(batch, output);
  if (untyped) return failRun(untyped, batch, result);
  const text = said.subtype === "success" ? said.result : finalResponse(state);
  const final = typedText(batch, output) ?? text;
  batch.add(runCompleted(run, { stopReason: stopReasonOf(said.stop_reason), finalResponse: final, now, result }));
}

/**
 * Corrects the costs in Claude Code's report, which uses Claude's prices for every model. A simulated answer costs
 * nothing. A model with a separate address costs the operator's price, or the known price of its name.
 */
function withOwnCosts(said: SDKResultMessage, termsOf: SessionModels["termsOf"]): JsonObject {
  const result = said as unknown as JsonObject;
  const models = Object.entries(said.modelUsage);
  if (models.every(([model]) => !termsOf(model).simulated && !termsOf(model).isOwn)) return result;
  const priced = models.map(
    ([model, usage]) => [model, { ...usage, costUSD: costOfModel(model, usage, termsOf) }] as const,
  );
  const total = priced.reduce((sum, [, { costUSD }]) => sum + costUSD, 0);
  return { ...result, total_cost_usd: total, modelUsage: Object.fromEntries(priced) };
}

function costOfModel(
  model: string,
  usage: SDKResultMessage["modelUsage"][string],
  termsOf: SessionModels["termsOf"],
): number {
  const { simulated, isOwn, price } = termsOf(model);
  if (simulated) return 0;
  if (!isOwn) return usage.costUSD;
  const counted = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
  };
  return (picosOfCall(model, counted, price) ?? 0) / 1e12;
}

/** Ends the run with an error. `result` is Claude Code's report of the error. */
export function failRun(end: RunEnd, batch: Batch, result?: JsonObject): void {
  const { state, now } = batch;
  if (!state.run) return;
  closeCalls(batch, (call) => resultAtEnd(call, end.stopReason));
  batch.add(runFailed(state.run, { ...end, now, result }));
}

/** Completes a run whose final answer is in the log, but whose end is not. */
export function completeRun(batch: Batch): void {
  const { state, now } = batch;
  if (!state.run) return;
  const output = outputIn(state.transcript, state.run);
  const untyped = untypedEnd(batch, output);
  if (untyped) return failRun(untyped, batch);
  const stopReason = stopReasonOf(state.run.stopReason);
  const result = output === undefined ? {} : { result: { structured_output: output } };
  const final = typedText(batch, output) ?? finalResponse(state);
  batch.add(runCompleted(state.run, { stopReason, finalResponse: final, now, ...result }));
}

/** The end of a run whose answer is only text. Claude Code reports success for such an answer. */
const NO_OUTPUT = endWith({
  code: "structured_output",
  message:
    "The model answered, but not in the format that output_format requires. Explain the fields in the prompt, or send the prompt again.",
});

/** Returns the failed end of a run if its answer does not match the requested format. */
function untypedEnd({ state }: Batch, output: unknown): RunEnd | undefined {
  if (!state.run || !optionsOf(state, state.run.prompt).output_format) return undefined;
  if (output === undefined) return NO_OUTPUT;
  const schema = state.agent?.output_schema;
  const problem = schema && misfitOf(schema, output);
  if (problem === undefined) return undefined;
  const message = `The final answer does not fit its schema. ${problem} The answer: ${JSON.stringify(output)}`;
  return endWith({ code: "validation_failed", message });
}

/** Returns the answer as JSON, for an agent with an output_schema. */
function typedText({ state }: Batch, output: unknown): string | undefined {
  return state.agent?.output_schema && output !== undefined ? JSON.stringify(output) : undefined;
}

/** Finds the answer in the requested format in the messages of the run. */
function outputIn(transcript: readonly Message[], { prompt }: RunState): unknown {
  const blocks = transcript
    .slice(transcript.findIndex(({ id }) => id === prompt.message_id) + 1)
    .flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const call = blocks.filter(isToolUse).findLast(
    ({ id, name }) =>
      name === "StructuredOutput" &&
      // An input that did not match the format has an error as its result.
      blocks.some((block) => block["tool_use_id"] === id && block["is_error"] !== true),
  );
  return call?.input;
}

/** Converts Claude Code's error to the end of a run. */
function endOf(result: SDKResultMessage): RunEnd {
  const said = "errors" in result && result.errors.length > 0 ? result.errors.join("\n") : textOfResult(result);
  switch (result.subtype) {
    case "error_max_turns":
      return endWith({ code: "max_turns", message: said || "The limit of turns was reached." });
    case "error_max_budget_usd":
      return outOfMoneyEnd(said || "The budget was used up.");
    case "error_max_structured_output_retries":
      return endWith({
        code: "structured_output",
        message: said || "No answer matched the requested schema.",
      });
    case "success":
    case "error_during_execution": {
      const status = "api_error_status" in result ? result.api_error_status : undefined;
      const code = typeof status === "number" ? "api_error" : "agent_error";
      const message = said || "Claude Code ended the run with an error and gave no reason.";
      return endWith({ code, message, ...(typeof status === "number" && { status }) });
    }
  }
}

function textOfResult(result: SDKResultMessage): string {
  return result.subtype === "success" ? result.result : "";
}
