/**
 * Which step a request asks for.
 *
 * Stateless: the last user text that carries a script is the one being played, and the number of assistant messages after it is the number
 * of the step. So resume, fork, subagents and parallel sessions need nothing from the server. Past its end a script repeats its last step.
 */
import { readScript, type Script, type Step } from "./script.ts";
import { resultText, textsOf, type Message } from "./wire.ts";

export interface Plan {
  readonly step: Step;
  readonly number: number;
  readonly script: Script;
}

export function planScript(messages: readonly Message[], model: string): Plan | null {
  let answers = 0;
  for (const message of messages.toReversed()) {
    if (message.role === "assistant") answers += 1;
    if (message.role !== "user") continue;
    const found = textsOf(message.content)
      .toReversed()
      .map(readScript)
      .find((each) => each !== null);
    if (!found) continue;
    const step = found.steps[Math.min(answers, found.steps.length - 1)] ?? {};
    return { step: fillIn(step, messages, model), number: answers, script: found };
  }
  return null;
}

/** What the last tool said. */
export function lastResult(messages: readonly Message[]): string {
  for (const { role, content } of messages.toReversed()) {
    if (role !== "user" || typeof content === "string") continue;
    const result = content.findLast((block) => block.type === "tool_result");
    if (result) return resultText(result);
  }
  return "";
}

/** `$LAST` and `$MODEL` become the last tool's result and the model, in every text of the step. */
function fillIn(step: Step, messages: readonly Message[], model: string): Step {
  const json = JSON.stringify(step);
  if (!json.includes("$LAST") && !json.includes("$MODEL")) return step;
  const last = lastResult(messages);
  return JSON.parse(json, (_key, value: unknown) =>
    // Functions as replacements: a `$&` in a tool's result must stay as it is.
    typeof value === "string" ? value.replaceAll("$MODEL", () => model).replaceAll("$LAST", () => last) : value,
  ) as Step;
}
