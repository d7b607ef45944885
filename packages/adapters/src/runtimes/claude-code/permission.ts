import { type FactData, type JsonObject, textOf } from "@skein/protocol";
import type { PermissionResult, PermissionUpdate } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

/** The structured answer to a permission request or to questions. */
const Decision = z.object({
  behavior: z.enum(["allow", "deny"]).optional(),
  updatedInput: z.record(z.string(), z.unknown()).optional(),
  updatedPermissions: z.array(z.record(z.string(), z.unknown())).optional(),
  message: z.string().optional(),
  interrupt: z.boolean().optional(),
  answers: z.record(z.string(), z.string()).optional(),
});

const YES: ReadonlySet<string> = new Set(["allow", "allowed", "approve", "approved", "yes", "ok", "true"]);

/** Converts a person's answer to an answer for Claude Code. Only a clear yes approves a tool call. */
export function permissionOf(
  answer: Pick<FactData<"await.answered">, "content" | "is_error">,
  kind: "question" | "approval",
  input: JsonObject,
): PermissionResult {
  const text = textOf(answer.content);
  const decision = decisionIn(text);
  if (answer.is_error || decision?.behavior === "deny")
    return {
      behavior: "deny",
      message: (decision ? decision.message : text) || "The user did not allow this call.",
      ...(decision?.interrupt && { interrupt: true }),
    };
  if (decision?.answers) return { behavior: "allow", updatedInput: { ...input, answers: decision.answers } };
  if (decision?.behavior === "allow")
    return {
      behavior: "allow",
      updatedInput: decision.updatedInput ?? input,
      ...(decision.updatedPermissions && {
        updatedPermissions: decision.updatedPermissions as unknown as PermissionUpdate[],
      }),
    };
  if (kind === "question") return { behavior: "allow", updatedInput: { ...input, answers: sameForAll(input, text) } };
  return YES.has(text.trim().toLowerCase())
    ? { behavior: "allow", updatedInput: input }
    : { behavior: "deny", message: text };
}

function decisionIn(text: string): z.infer<typeof Decision> | undefined {
  try {
    const decision = Decision.safeParse(JSON.parse(text)).data;
    return decision && (decision.behavior || decision.answers) ? decision : undefined;
  } catch {
    return undefined;
  }
}

/** Uses a free text as the answer to every question of the call. */
function sameForAll(input: JsonObject, text: string): Record<string, string> {
  const questions = Array.isArray(input["questions"]) ? (input["questions"] as { question?: unknown }[]) : [];
  return Object.fromEntries(questions.map(({ question }) => [String(question), text]));
}
