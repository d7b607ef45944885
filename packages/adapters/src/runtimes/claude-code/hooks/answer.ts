import { type HookEvent, JsonObject } from "@skein/protocol";
import type { SyncHookJSONOutput } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

/** What a webhook answers, as the Claude API has it. An empty answer has no opinion. */
export const HookAnswer = z.object({
  decision: z
    .enum(["allow", "deny", "ask", "approve", "block"])
    .transform((word) => (word === "approve" ? "allow" : word === "block" ? "deny" : word))
    .nullish(),
  reason: z.string().max(10_000).nullish(),
  /** The input that the call has from here on. */
  modified_input: JsonObject.nullish(),
  /** Additional text for the model. */
  additional_context: z.string().max(100_000).nullish(),
});
export type HookAnswer = z.infer<typeof HookAnswer>;

/** Events whose answer decides whether something may happen. No answer means no. */
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

/** The answer in the format of the SDK. */
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

/** `ask`, and no opinion: whoever would be asked without the hook is asked. */
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
