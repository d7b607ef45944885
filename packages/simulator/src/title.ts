/** Claude Code's request for a session's title: it quotes the prompt, script and all, but is no step of it. */
import { withoutScripts, type Step } from "./script.ts";
import { textsOf, type MessagesRequest } from "./wire.ts";

const MAXIMUM_WORDS = 6;

/** The title, if this request asks for one. */
export function titleStep({ system, messages, tools }: MessagesRequest): Step | null {
  if (tools.length > 0) return null;
  const said = messages.flatMap((message) => textsOf(message.content));
  const asksForTitle = [...textsOf(system), ...said].some((text) =>
    text.includes('Return JSON with a single "title" field'),
  );
  return asksForTitle ? { text: JSON.stringify({ title: titleOf(said.at(-1) ?? "") }) } : null;
}

function titleOf(text: string): string {
  const words = withoutScripts(text)
    .replaceAll(/<[^>]*>/g, " ")
    .split(/\s+/)
    .filter(Boolean);
  return words.slice(0, MAXIMUM_WORDS).join(" ") || "A simulated session";
}
