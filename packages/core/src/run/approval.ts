import { type FactData, textOf } from "@skein/protocol";

const YES: ReadonlySet<string> = new Set(["allow", "allowed", "approve", "approved", "y", "yes", "ok", "true"]);

/** Whether an answer to an approval lets the call run. Everything that is not clearly a yes is a no, an empty answer included. */
export function isApproval({ content, is_error }: Pick<FactData<"await.answered">, "content" | "is_error">): boolean {
  if (is_error) return false;
  const text = textOf(content).trim();
  return YES.has(text.toLowerCase()) || behaviorIn(text) === "allow";
}

/** The `behavior` of an answer in Claude Code's form: `{"behavior": "allow"}`. */
function behaviorIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly behavior?: unknown } | null)?.behavior;
  } catch {
    return undefined;
  }
}
