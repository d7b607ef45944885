import { watch, type WatchEvent } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Styled, styledText } from "../../terminal/styled.ts";
import { shorten } from "../../terminal/width.ts";
import { shortId } from "./short-names.ts";
import { clock } from "../../terminal/times.ts";

export const watchCommand = historyCommand({
  name: "history watch",
  summary: "Show lines of transcripts as they are written, until Ctrl-C",
  shares: ["root", "source", "json"],
  isLive: true,
  options: { bookkeeping: { about: "Also lines outside the conversation: titles, snapshots, modes" } },
  examples: [
    ["skein history watch", "Follow every session"],
    ["skein history watch --json", "One line of JSON for each event"],
  ],
  async run({ screen, values, library, signal, refresh }) {
    screen.note(screen.paint.dim("Watching. Ctrl-C stops."));
    const said = new Map<unknown, string>();
    for await (const event of watch({ ...library, signal, refresh })) {
      if (screen.isClosed) break;
      if (values.json) await screen.json(event, 0);
      else await screen.print(...eventLines(withoutRepeats(event, said), screen, values.bookkeeping));
    }
    return EXIT.completed;
  },
});

const mostRemembered = 1000;

/**
 * Leaves out lines whose text was already shown. An agent may write an answer again when it knows how many tokens the
 * answer has.
 */
function withoutRepeats(event: WatchEvent, said: Map<unknown, string>): WatchEvent {
  if (event.type !== "lines") return event;
  const lines = event.lines.filter(({ value }) => {
    const [id, text] = [value["uuid"], saidIn(value)];
    if (id === undefined || text === undefined) return true;
    const isRepeat = said.get(id) === text;
    said.delete(id);
    said.set(id, text);
    if (said.size > mostRemembered) said.delete(said.keys().next().value);
    return !isRepeat;
  });
  return { ...event, lines };
}

function eventLines(event: WatchEvent, screen: StyledScreen, showsAll: boolean): readonly Styled[] {
  const { paint } = screen;
  const { source, file } = event;
  const { sessionId = "", agentId } = file;
  const name = agentId === undefined ? shortId(sessionId) : `agent-${shortId(agentId)}`;
  const who = paint.cyan(source === "claude-code" ? name : `${source} ${name}`);
  switch (event.type) {
    case "session":
      return [styledText`${who} ${paint.bold("new")} ${event.file.path}`];
    case "rewritten":
      return [styledText`${who} ${paint.yellow("rewritten")}`];
    case "removed":
      return [styledText`${who} ${paint.yellow("removed")}`];
    case "lines":
      return [
        ...event.lines.flatMap(({ value }) => {
          const said = saidIn(value);
          if (said === undefined && !showsAll) return [];
          const time = new Date(String(value["timestamp"]));
          const text = shorten(said ?? "", Math.min(200, screen.columns - 30));
          return [
            styledText`${who} ${paint.dim(Number.isNaN(time.getTime()) ? "     " : clock(time))} ${paint.dim(String(value["type"]).padEnd(9))} ${text}`,
          ];
        }),
        // The line number is known only for files that were followed from their beginning.
        ...event.damage.map(({ line, kind }) =>
          paint.red(
            line === 0 ? styledText`${who} damaged line: ${kind}` : styledText`${who} damaged line ${line}: ${kind}`,
          ),
        ),
      ];
  }
}

/** Returns a summary of a line, or undefined for a bookkeeping line. */
function saidIn(value: Readonly<Record<string, unknown>>): string | undefined {
  const { content } = (value["message"] ?? {}) as { content?: unknown };
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return (content as Readonly<Record<string, unknown>>[])
    .map((block) => {
      if (typeof block["text"] === "string") return block["text"];
      if (block["type"] === "tool_use") return `⏺ ${String(block["name"])} ${JSON.stringify(block["input"])}`;
      if (block["type"] === "tool_result")
        return `⎿ ${typeof block["content"] === "string" ? block["content"] : "result"}`;
      return `[${String(block["type"])}]`;
    })
    .join(" ");
}
