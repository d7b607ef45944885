import { type FactData, JsonObject, textOf } from "@skein/protocol";

const YES: ReadonlySet<string> = new Set(["allow", "allowed", "approve", "approved", "y", "yes", "ok", "true"]);

/** Whether an answer to an approval lets the call run. Any answer that is not clearly a yes is a no, also an empty one. */
export function isApproval({ content, is_error }: Pick<FactData<"await.answered">, "content" | "is_error">): boolean {
  if (is_error) return false;
  const text = textOf(content).trim();
  return YES.has(text.toLowerCase()) || decisionIn(text)?.behavior === "allow";
}

/** The changed input with which an approved call runs; undefined if it runs with the model's input. */
export function approvedInput({ content }: Pick<FactData<"await.answered">, "content">): JsonObject | undefined {
  const input = JsonObject.safeParse(decisionIn(textOf(content).trim())?.updatedInput);
  return input.data;
}

/** An approval with another input, in Claude Code's form. */
export function approvalWith(input: JsonObject): string {
  return JSON.stringify({ behavior: "allow", updatedInput: input });
}

/** An answer in Claude Code's form: `{"behavior": "allow"}`. */
function decisionIn(text: string): { readonly behavior?: unknown; readonly updatedInput?: unknown } | undefined {
  try {
    return (JSON.parse(text) as object | null) ?? undefined;
  } catch {
    return undefined;
  }
}
