import { textValue } from "../text/safe-text.ts";
import type { SessionView } from "./view.ts";

/** Returns the title of a session, or the beginning of its first prompt if it has no title. */
export function titleOfView(view: SessionView): string {
  return view.title ?? firstWords(view);
}

function firstWords(view: SessionView): string {
  const prompt = view.items.find((item) => item.kind === "prompt");
  if (prompt?.kind !== "prompt") return view.head === null ? "Session" : `A session with ${view.head.agentName}`;
  const text =
    typeof prompt.content === "string"
      ? prompt.content
      : textValue(prompt.content.find(({ type }) => type === "text")?.["text"]);
  return text.slice(0, 80);
}
