import { type HookEvent, JsonObject } from "@skein/protocol";
import type { SyncHookJSONOutput } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

/** The answer of a webhook, in the format of the Claude API. An empty answer makes no decision. */
export const HookAnswer = z.object({
  decision: z
    .enum(["allow", "deny", "ask", "approve", "block"])
    .transform((word) => (word === "approve" ? "allow" : word === "block" ? "deny" : word))
    .nullish(),
  reason: z.string().max(10_000).nullish(),
  /** The new input of the tool call. */
  modified_input: JsonObject.nullish(),
  /** Additional text for the model. */
  additional_context: z.string().max(100_000).nullish(),
});
export type HookAnswer = z.infer<typeof HookAnswer>;

/** Events at which the webhook decides whether something may happen. Without an answer, it may not happen. */
export const GATES: ReadonlySet<HookEvent> = new Set(["PreToolUse", "PermissionRequest"]);

const WITH_CONTEXT: ReadonlySet<HookEvent> = new Set([
  "UserPromptSubmit",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "SessionStart",
  "SubagentStart",
  "Notification",
]);

/** Converts the answer to the format of the SDK. */
export function outputOf(event: HookEvent, answer: HookAnswer): SyncHookJSONOutput {
  const { decision, modified_input: updatedInput, additional_context: additionalContext } = answer;
  const reason = answer.reason ?? undefined;
  if (event === "PreToolUse")
    return {
      hookSpecificOutput: {
        hookEventName: event,
        ...(decision && { permissionDecision: decision }),
        ...(reason !== undefined && { permissionDecisionReason: reason }),
        ...(updatedInput && { updatedInput }),
        ...(additionalContext && { additionalContext }),
      },
    };
  if (event === "PermissionRequest") return permissionOutput(answer);
  if (event === "PreModelSwitch")
    return decision
      ? {
          hookSpecificOutput: {
            hookEventName: event,
            permissionDecision: decision,
            ...(reason !== undefined && { permissionDecisionReason: reason }),
          },
        }
      : {};
  return {
    ...(decision === "deny" && { decision: "block", reason: reason ?? "A hook refused this." }),
    ...(additionalContext &&
      WITH_CONTEXT.has(event) && {
        hookSpecificOutput: { hookEventName: event as "UserPromptSubmit", additionalContext },
      }),
  };
}

/**
 * Converts the answer to a permission request. If the answer is `ask` or makes no decision, Claude Code asks people as
 * usual.
 */
function permissionOutput({ decision, reason, modified_input: updatedInput }: HookAnswer): SyncHookJSONOutput {
  const hookEventName = "PermissionRequest";
  if (decision === "deny")
    return {
      hookSpecificOutput: { hookEventName, decision: { behavior: "deny", message: reason ?? "A hook refused this." } },
    };
  if (decision !== "allow") return {};
  return {
    hookSpecificOutput: { hookEventName, decision: { behavior: "allow", ...(updatedInput && { updatedInput }) } },
  };
}
