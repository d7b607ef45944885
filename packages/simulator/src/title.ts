/**
 * Answers a request of Claude Code or Skein for a title of a session. Such a request quotes the prompt with its script,
 * but it does not play a step of the script.
 */
import { withoutScripts, type Step } from "./script.ts";
import { textsOf, type MessagesRequest } from "./wire.ts";

const MAXIMUM_WORDS = 6;

/** The title, if this request asks for one. */
export function titleStep({ system, messages, tools }: MessagesRequest): Step | null {
  if (tools.length > 0) return null;
  const said = messages.flatMap((message) => textsOf(message.content));
  const title = titleOf(said.at(-1) ?? "");
  const asked = [...textsOf(system), ...said];
  if (asked.some((text) => text.includes('Return JSON with a single "title" field')))
    return { text: JSON.stringify({ title }) };
  return textsOf(system).some((text) => text.endsWith("Answer with the title alone.")) ? { text: title } : null;
}

function titleOf(text: string): string {
  const words = withoutScripts(text)
    .replaceAll(/<[^>]*>/g, " ")
    .split(/\s+/)
    .filter(Boolean);
  return words.slice(0, MAXIMUM_WORDS).join(" ") || "A simulated session";
}
