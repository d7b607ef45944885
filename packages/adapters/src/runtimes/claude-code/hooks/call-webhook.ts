import { setTimeout as delay } from "node:timers/promises";
import { type HookWebhook, webhookHeaders } from "@skein/protocol";
import { type GuardedRequestOptions, guardedRequest } from "../../../tools/guarded-request.ts";
import { HookAnswer } from "./answer.ts";

/** The error if a webhook gave no valid answer. Its message contains neither the address nor the sent data. */
export class HookFailure extends Error {
  readonly code: "hook_timeout" | "hook_failed";

  constructor(code: "hook_timeout" | "hook_failed", message: string) {
    super(message);
    this.code = code;
  }
}

export interface WebhookCall {
  readonly hook: HookWebhook;
  readonly id: string;
  readonly payload: object;
  /** The secret that signs the call. */
  readonly secret: string;
}

export type CallDeps = Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort" | "lookup"> & {
  readonly now: () => number;
};

const ANSWER_BYTES = 1024 * 1024;
/** The delays between attempts to reach the webhook. All attempts have the same message id. */
const AGAIN_MS = [200, 1000];

/** Calls a webhook, if necessary several times. The time limit of the hook is for all attempts together. */
export async function callWebhook(call: WebhookCall, deps: CallDeps, signal: AbortSignal): Promise<HookAnswer> {
  const limit = AbortSignal.timeout(call.hook.timeout * 1000);
  const stop = AbortSignal.any([signal, limit]);
  for (let attempt = 0; ; attempt += 1) {
    const { status, text } = await attemptOf(call, deps, stop).catch(() => ({ status: 0, text: "" }));
    if (limit.aborted) throw new HookFailure("hook_timeout", `The webhook did not answer in ${call.hook.timeout} s.`);
    if (signal.aborted) throw new HookFailure("hook_failed", "The wait for the webhook was cancelled.");
    if (status >= 200 && status < 300) return answerIn(text);
    const wait = AGAIN_MS[attempt];
    const mayPass = status === 0 || status === 429 || status >= 500;
    if (!mayPass || wait === undefined)
      throw new HookFailure(
        "hook_failed",
        status === 0 ? "The webhook could not be reached." : `The webhook answered ${status}.`,
      );
    await delay(wait, undefined, { signal: stop }).catch(() => undefined);
  }
}

async function attemptOf({ hook, id, payload, secret }: WebhookCall, deps: CallDeps, signal: AbortSignal) {
  const { now, allowsAddress, allowsPort, lookup } = deps;
  const body = JSON.stringify(payload);
  const signed = await webhookHeaders({ secret, id, at: now(), body });
  const post = { headers: { ...hook.headers, accept: "application/json", ...signed }, body };
  const places = {
    ...(allowsAddress && { allowsAddress }),
    ...(allowsPort && { allowsPort }),
    ...(lookup && { lookup }),
  };
  const options = { ...places, post, maxBytes: ANSWER_BYTES, timeoutMs: hook.timeout * 1000 };
  const { status, body: bytes, cut } = await guardedRequest(new URL(hook.url), options, signal);
  // A cut answer must not count, so its text is replaced by invalid JSON.
  return { status, text: cut ? "{" : new TextDecoder().decode(bytes) };
}

function answerIn(text: string): HookAnswer {
  if (text.trim() === "") return {};
  try {
    return HookAnswer.parse(JSON.parse(text));
  } catch {
    throw new HookFailure(
      "hook_failed",
      "The webhook's answer cannot be read. Expected JSON with decision (allow, deny or ask), reason and modified_input.",
    );
  }
}
