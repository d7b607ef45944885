/** Answers a model call of any dialect: chooses the step of the script, its faults and its answer. */
import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { buildAnswer, type AnswerDeps } from "./answer.ts";
import { ApiError } from "./api-error.ts";
import { demoStep } from "./demo.ts";
import type { Dialect, RequestHead } from "./dialects/dialect.ts";
import { createFaultCounter, NO_FAULTS } from "./faults.ts";
import { sendError } from "./http.ts";
import type { OpenCall, Outcome } from "./ledger.ts";
import { planScript } from "./plan.ts";
import type { ErrorFault, Step } from "./script.ts";
import { sendAnswer, untilGone } from "./send-answer.ts";
import { titleStep } from "./title.ts";
import type { JsonObject } from "./wire.ts";

export interface ModelDeps extends Omit<AnswerDeps, "count"> {
  /** The delay between the deltas of a demo answer, so that people can watch the answer grow. */
  readonly demoDelayMs: number;
}

/** A parsed request, and its dialect. */
interface Asked {
  readonly call: OpenCall;
  readonly dialect: Dialect;
  readonly head: RequestHead;
  readonly body: unknown;
}

export type ModelRoute = (asked: Asked, response: ServerResponse) => Promise<Outcome>;

export function createModelRoute(deps: ModelDeps): ModelRoute {
  const dueFaults = createFaultCounter();

  return async ({ call, dialect, head, body }, response) => {
    const request = dialect.parse(body, head);
    call.model = request.model;
    call.stream = request.stream;
    const title = titleStep(request);
    const plan = title ? null : planScript(request.messages, request.model);
    call.label = plan?.script.label ?? null;
    call.step = plan?.number ?? null;

    const step = plan?.step ?? title ?? { ...demoStep(request), chunk: 12, chunkDelayMs: deps.demoDelayMs };
    const faults = plan ? dueFaults(step, `${plan.number} ${plan.script.source}`) : NO_FAULTS;
    if (faults.error) return sendFault({ call, dialect, head, body }, faults.error, step, response);

    const message = buildAnswer(step, request, { ...deps, ...dialectParts(dialect, deps) });
    call.usage = message.usage;
    call.stopReason = message.stop_reason;
    const answer = { message, request, asked: body as JsonObject, step, now: deps.now() };
    const events = request.stream
      ? dialect.events(answer)
      : [{ text: JSON.stringify(dialect.whole(answer)), kind: "part" as const }];
    return sendAnswer(response, { events, stream: request.stream, step, faults, requestId: call.id, dialect });
  };
}

/** The parts of an answer that differ between dialects: the ids of calls, and the counts. */
function dialectParts({ callPrefix, usage }: Dialect, { ids }: ModelDeps): Pick<AnswerDeps, "ids" | "count"> {
  return {
    ids: (prefix) => ids(prefix === "toolu_" ? callPrefix : prefix),
    count: usage ?? ((counted) => counted),
  };
}

function sendFault(
  { call, dialect }: Asked,
  fault: ErrorFault,
  step: Step,
  response: ServerResponse,
): Promise<Outcome> {
  const retryAfter = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  const error = new ApiError(fault.status, { ...fault, headers: { ...retryAfter, ...fault.headers } });
  return untilGone(response, async (signal) => {
    if (step.delayMs) await setTimeout(step.delayMs, undefined, { signal });
    call.error = error.message;
    sendError(response, error, dialect);
    return "faulted";
  });
}
