/**
 * Determines which step of a script answers a request.
 *
 * The last user text that contains a script is the current script. The number of assistant messages after this text is
 * the number of the step. So the simulator needs no state for resumes, forks, subagents and parallel sessions. After
 * the last step of a script, that step is repeated.
 */
import { readScript, type Script, type Step } from "./script.ts";
import { resultText, textsOf, type Block, type Message } from "./wire.ts";

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

/**
 * The result of the last tool call. Clients may send parallel results in any order, so the order of the calls decides.
 */
export function lastResult(messages: readonly Message[]): string {
  const results = new Map<unknown, Block>();
  for (const { role, content } of messages.toReversed()) {
    if (typeof content === "string") continue;
    if (role === "user") {
      for (const block of content) if (block.type === "tool_result") results.set(block.tool_use_id, block);
    }
    if (role !== "assistant" || results.size === 0) continue;
    const call = content.findLast((block) => block.type === "tool_use" && results.has(block.id));
    const result = results.get(call?.id);
    if (result) return resultText(result);
  }
  return "";
}

/**
 * Replaces `$LAST` with the result of the last tool call and `$MODEL` with the model's name, in every text of the step.
 */
function fillIn(step: Step, messages: readonly Message[], model: string): Step {
  const json = JSON.stringify(step);
  if (!json.includes("$LAST") && !json.includes("$MODEL")) return step;
  const last = lastResult(messages);
  return JSON.parse(json, (_key, value: unknown) =>
    // The replacement is a function, because a tool's result may contain `$&`.
    typeof value === "string" ? value.replaceAll("$MODEL", () => model).replaceAll("$LAST", () => last) : value,
  ) as Step;
}
