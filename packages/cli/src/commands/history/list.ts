import { listSessions } from "@skein/history";
import { historyCommand } from "./command.ts";
import { shortenPath, shortId } from "./short-names.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { styledText } from "../../terminal/styled.ts";
import { shorten } from "../../terminal/width.ts";
import { table } from "../../terminal/table.ts";
import { count, counted } from "../../terminal/counts.ts";
import { shortTime } from "../../terminal/times.ts";

export const list = historyCommand({
  name: "history list",
  summary: "List sessions, last active first",
  lines: "as-needed",
  usesPager: true,
  examples: [
    ["skein history list", "The 50 newest sessions"],
    ["skein history list --project . --since 7d", "Those of this project, of the last week"],
    ["skein history list --source codex --source opencode", "Only those of two agents"],
    ["skein history list --limit all --json", "Every session as JSON"],
  ],
  async run({ screen, values, library }) {
    const result = await listSessions(library);
    if (values.json) {
      await screen.json(result);
      return EXIT.completed;
    }
    const { paint } = screen;
    const { data, pagination } = result;
    if (pagination.total === 0) {
      await screen.print(styledText`No sessions.`);
      return EXIT.completed;
    }
    if (data.length === 0) {
      await screen.print(styledText`${counted(pagination.total, "session")}; this page shows none of them.`);
      return EXIT.completed;
    }
    // An index refers to the same session in other commands only if the list was not filtered.
    const isWhole = values.project === undefined && values.since === undefined && values.until === undefined;
    const isNarrow = screen.columns < NARROW;
    const projectWidth = isNarrow ? 14 : Math.min(36, Math.floor(screen.columns / 4));
    const counts = data.map(({ messageCount }) => count(messageCount).length);
    const others = projectWidth + Math.max(4, ...counts) + (isWhole ? 4 + String(pagination.total).length : 0);
    // The agent's name is shown only if there is more than one agent.
    const isMixed = data.some(({ source }) => source !== "claude-code");
    const idWidth = Math.max(...data.map(({ id }) => shortId(id).length));
    const rows = data.map((session, at) => [
      ...(isWhole ? [paint.cyan(pagination.offset + at)] : []),
      paint.cyan(shortId(session.id)),
      ...(isMixed ? [session.source] : []),
      paint.dim(shortTime(session.lastActivityAt)),
      count(session.messageCount),
      ...(isNarrow ? [] : [session.agentIds.length === 0 ? "" : paint.dim(count(session.agentIds.length))]),
      paint.blue(shortenPath(session.projectPath, projectWidth)),
      session.summary === null
        ? paint.dim("(no title)")
        : shorten(
            session.summary,
            titleWidth(screen.columns, others + (isNarrow ? 0 : 8) + (isMixed ? 16 : 0) + idWidth - 8),
          ),
    ]);
    const columns = [
      ...(isWhole ? [{ title: "#", align: "right" as const }] : []),
      { title: "ID" },
      ...(isMixed ? [{ title: "AGENT" }] : []),
      { title: "LAST ACTIVITY" },
      { title: "MSGS", align: "right" as const },
      ...(isNarrow ? [] : [{ title: "AGENTS", align: "right" as const }]),
      { title: "PROJECT" },
      { title: "TITLE" },
    ];
    await screen.print(...table(columns, rows, screen.columns));
    const { offset, total, hasMore } = pagination;
    if (hasMore) {
      const next = offset + data.length;
      await screen.print(
        paint.dim(
          styledText`${next - data.length + 1} to ${next} of ${counted(total, "session")}; --offset ${next} shows the next ones`,
        ),
      );
    }
    return EXIT.completed;
  },
});

/** A terminal that has no room for every column. */
const NARROW = 100;

/** The width that is left beside the id, the time and the other columns. */
function titleWidth(columns: number, others: number): number {
  return Number.isFinite(columns) ? Math.max(16, columns - others - 32) : 200;
}
