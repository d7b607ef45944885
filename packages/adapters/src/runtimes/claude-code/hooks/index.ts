import { type FactOf, hookCalled } from "@skein/core";
import type { HookEvent, HookWebhook, HooksConfig, JsonObject } from "@skein/protocol";
import type { HookCallback, HookInput, Options } from "@anthropic-ai/claude-agent-sdk";
import { compileMatcher } from "../policy/rules.ts";
import { GATES, type HookAnswer, outputOf } from "./answer.ts";
import { type CallDeps, HookFailure, callWebhook } from "./call-webhook.ts";

/** The session for which hooks are called. */
export interface HookedSession {
  readonly sessionId: string;
  readonly hooks: HooksConfig | null | undefined;
  readonly runId: () => string | null;
  readonly wrote: (fact: FactOf<"hook.called">) => Promise<void>;
}

export interface HooksDeps extends CallDeps {
  /** Makes the id of a message. All attempts of a message have the same id. */
  readonly ids: () => string;
  /** Returns the secret for hooks without a secret: `whsec_…`. */
  readonly secret: () => Promise<string>;
}

/** Claude Code's time limit is longer than Skein's by this number of seconds, so that Skein reports the timeout. */
const BEYOND = 5;

/**
 * Creates the hooks of a Claude Code process from webhooks. A hook signs the event, posts it to the webhook and applies
 * the answer. If the answer is missing, PreToolUse and PermissionRequest deny the call. At other events, the session
 * continues.
 */
export function createHooks(session: HookedSession, deps: HooksDeps): NonNullable<Options["hooks"]> {
  const hooks: NonNullable<Options["hooks"]> = {};
  for (const [event, hook] of Object.entries(session.hooks ?? {}) as [HookEvent, HookWebhook | null][])
    if (hook) hooks[event] = [{ timeout: hook.timeout + BEYOND, hooks: [callback(event, hook, { session, deps })] }];
  const [start] = hooks.SessionStart ?? [];
  if (start)
    hooks.UserPromptSubmit = [{ ...start, hooks: start.hooks.map(atFirst) }, ...(hooks.UserPromptSubmit ?? [])];
  const [notice] = hooks.Notification ?? [];
  if (notice) {
    // The PermissionRequest hook is asked first. People get a notice unless this hook allows or denies the call.
    const [decides = { hooks: [noOpinion] }] = hooks.PermissionRequest ?? [];
    const timeout = decides.timeout ?? notice.timeout;
    const told = decides.hooks.flatMap((decide) => notice.hooks.map((tell) => whenUndecided(decide, whenAsked(tell))));
    hooks.PermissionRequest = [{ ...(timeout !== undefined && { timeout }), hooks: told }];
  }
  return hooks;
}

const noOpinion: HookCallback = async () => ({});

function whenUndecided(decide: HookCallback, tell: HookCallback): HookCallback {
  return async (...given) => {
    const output = await decide(...given);
    return "hookSpecificOutput" in output ? output : tell(...given);
  };
}

/**
 * Calls a Notification hook when Claude Code asks for permission. Without a terminal, Claude Code sends no such notice.
 * The hook's answer is ignored.
 */
function whenAsked(told: HookCallback): HookCallback {
  return async (input, toolUseId) => {
    if (input.hook_event_name !== "PermissionRequest") return {};
    const { session_id, transcript_path, cwd, tool_name } = input;
    const message = `Claude Code waits for you: ${tool_name}.`;
    const notice = { message, notification_type: "permission_prompt", hook_event_name: "Notification" } as const;
    void told({ session_id, transcript_path, cwd, ...notice }, toolUseId, { signal: new AbortController().signal });
    return {};
  };
}

/** Calls a SessionStart hook at the first prompt, because Claude Code does not call it at the start of a process. */
function atFirst(told: HookCallback): HookCallback {
  let isTold = false;
  return async (input, toolUseId, options) => {
    if (isTold) return {};
    isTold = true;
    const { session_id, transcript_path, cwd } = input;
    const start = { session_id, transcript_path, cwd, hook_event_name: "SessionStart", source: "startup" } as const;
    const output = await told(start, toolUseId, options);
    const context = "hookSpecificOutput" in output ? output.hookSpecificOutput : undefined;
    if (context?.hookEventName !== "SessionStart" || context.additionalContext === undefined) return {};
    return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: context.additionalContext } };
  };
}

function callback(
  event: HookEvent,
  hook: HookWebhook,
  { session, deps }: { readonly session: HookedSession; readonly deps: HooksDeps },
): HookCallback {
  const matcher = compileMatcher(hook.matcher ?? "*");
  return async (input, toolUseId, { signal }) => {
    const toolName = "tool_name" in input ? input.tool_name : null;
    if (toolName !== null && !matcher.matches(toolName)) return {};
    const began = deps.now();
    const payload = payloadOf(input, { session, toolUseId });
    let answer: HookAnswer;
    let error: HookFailure | undefined;
    try {
      const secret = hook.secret ?? (await deps.secret());
      answer = await callWebhook({ hook, payload, id: `hook_${deps.ids()}`, secret }, deps, signal);
    } catch (thrown) {
      error = thrown instanceof HookFailure ? thrown : new HookFailure("hook_failed", "The webhook was not called.");
      answer = GATES.has(event) ? { decision: "deny", reason: `A hook could not be asked. ${error.message}` } : {};
    }
    await session.wrote(
      hookCalled({
        run_id: session.runId(),
        hook_event: event,
        tool_use_id: toolUseId ?? null,
        tool_name: toolName,
        decision: answer.decision ?? "none",
        reason: answer.reason ?? null,
        modified_input: answer.modified_input ?? null,
        error: error ? { code: error.code, message: error.message } : null,
        duration_ms: Math.max(0, Math.round(deps.now() - began)),
      }),
    );
    return outputOf(event, answer);
  };
}

/** Fields that are paths of this machine, or are already elsewhere in the payload. */
const LEFT_OUT = new Set(["hook_event_name", "session_id", "transcript_path", "cwd"]);
const OWN_FIELDS = new Set(["tool_name", "tool_input", "tool_response", "tool_use_id"]);

/** Returns the payload in the Claude API's format. The SDK's additional fields are in `result_data`. */
function payloadOf(
  input: HookInput,
  { session, toolUseId }: { readonly session: HookedSession; readonly toolUseId: string | undefined },
): JsonObject {
  const given = Object.entries(input).filter(([name]) => !LEFT_OUT.has(name));
  const { tool_response, ...own } = Object.fromEntries(given.filter(([name]) => OWN_FIELDS.has(name))) as JsonObject;
  const others = given.filter(([name]) => !OWN_FIELDS.has(name));
  return {
    hook_event: input.hook_event_name,
    session_id: session.sessionId,
    run_id: session.runId(),
    ...(toolUseId !== undefined && { tool_use_id: toolUseId }),
    ...own,
    ...(tool_response !== undefined && { tool_result: tool_response }),
    ...(others.length > 0 && { result_data: Object.fromEntries(others) }),
  };
}
