/** `POST /v1/messages`: which step, with which faults, as which answer. */
import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { buildAnswer, type AnswerDeps } from "./answer.ts";
import { ApiError } from "./api-error.ts";
import { sendAnswer, untilGone } from "./send-answer.ts";
import { demoStep } from "./demo.ts";
import { streamEventsOf } from "./stream-events.ts";
import { createFaultCounter, NO_FAULTS } from "./faults.ts";
import { sendError } from "./http.ts";
import type { OpenCall, Outcome } from "./ledger.ts";
import { parseRequest } from "./parse-request.ts";
import { planScript } from "./plan.ts";
import type { ErrorFault, Step } from "./script.ts";
import { titleStep } from "./title.ts";

export interface MessagesDeps extends AnswerDeps {
  /** Between the deltas of a demo answer, so that people see it being written. */
  readonly demoDelayMs: number;
}

export type MessagesRoute = (call: OpenCall, body: unknown, response: ServerResponse) => Promise<Outcome>;

export function createMessagesRoute(deps: MessagesDeps): MessagesRoute {
  const dueFaults = createFaultCounter();

  return async (call, body, response) => {
    const request = parseRequest(body, call.headers["anthropic-version"] ?? "");
    call.model = request.model;
    call.stream = request.stream;
    const title = titleStep(request);
    const plan = title ? null : planScript(request.messages, request.model);
    call.label = plan?.script.label ?? null;
    call.step = plan?.number ?? null;

    const step = plan?.step ?? title ?? { ...demoStep(request), chunk: 12, chunkDelayMs: deps.demoDelayMs };
    const faults = plan ? dueFaults(step, `${plan.number} ${plan.script.source}`) : NO_FAULTS;
    if (faults.error) return sendFault(call, faults.error, step, response);

    const message = buildAnswer(step, request, deps);
    call.usage = message.usage;
    call.stopReason = message.stop_reason;
    const events = request.stream
      ? streamEventsOf(message, step.chunk)
      : [{ text: JSON.stringify(message), isDelta: false }];
    return sendAnswer(response, { events, stream: request.stream, step, faults, requestId: call.id });
  };
}

function sendFault(call: OpenCall, fault: ErrorFault, step: Step, response: ServerResponse): Promise<Outcome> {
  const retryAfter = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  const error = new ApiError(fault.status, { ...fault, headers: { ...retryAfter, ...fault.headers } });
  return untilGone(response, async (signal) => {
    if (step.delayMs) await setTimeout(step.delayMs, undefined, { signal });
    call.error = error.message;
    sendError(response, error, call.id);
    return "faulted";
  });
}
