import { type FactData, JsonObject, textOf } from "@skein/protocol";

const YES: ReadonlySet<string> = new Set(["allow", "allowed", "approve", "approved", "y", "yes", "ok", "true"]);

/** Returns whether an answer to an approval lets the call run. An unclear or empty answer is a no. */
export function isApproval({ content, is_error }: Pick<FactData<"await.answered">, "content" | "is_error">): boolean {
  if (is_error) return false;
  const text = textOf(content).trim();
  return YES.has(text.toLowerCase()) || decisionIn(text)?.behavior === "allow";
}

/** Returns the changed input of an approved call. Undefined if the call runs with the model's input. */
export function approvedInput({ content }: Pick<FactData<"await.answered">, "content">): JsonObject | undefined {
  const input = JsonObject.safeParse(decisionIn(textOf(content).trim())?.updatedInput);
  return input.data;
}

/** Makes an approval with another input, in the format of Claude Code. */
export function approvalWith(input: JsonObject): string {
  return JSON.stringify({ behavior: "allow", updatedInput: input });
}

/** Reads an answer in the format of Claude Code, such as `{"behavior": "allow"}`. */
function decisionIn(text: string): { readonly behavior?: unknown; readonly updatedInput?: unknown } | undefined {
  try {
    return (JSON.parse(text) as object | null) ?? undefined;
  } catch {
    return undefined;
  }
}
