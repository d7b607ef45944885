import { listSessions, type SessionSummary } from "@skein/history";
import { historyCommand } from "./command.ts";
import { shortenPath, shortIds } from "./short-names.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { piece, styledText, type Paint, type Piece, type Styled, wrap } from "../../terminal/styled.ts";
import { shellQuoted } from "../../terminal/shell-quoted.ts";
import { shorten, widthOf } from "../../terminal/width.ts";
import { table, type Column } from "../../terminal/table.ts";
import { count, counted } from "../../terminal/counts.ts";
import { shorterTime, shortTime } from "../../terminal/times.ts";

export const list = historyCommand({
  name: "history list",
  summary: "List sessions, last active first",
  lines: "as-needed",
  usesPager: true,
  examples: [
    ["skein history list", "The 50 newest sessions"],
    ["skein history list --project . --since 7d", "Sessions of this project, from the last week"],
    ["skein history list --source codex --source opencode", "Only sessions of two agents"],
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
    const { offset } = pagination;
    const isNarrow = screen.columns < NARROW;
    // The agent's name is shown only if there is more than one agent.
    const isMixed = data.some(({ source }) => source !== "claude-code");
    const idOf = shortIds(data.map(({ id }) => id));
    const timeOf = isNarrow ? shorterTime(new Date()) : shortTime;
    const columnsWith = (projectWidth: number): readonly ListColumn[] => [
      { title: "#", align: "right", cell: (_, at) => paint.cyan(offset + at) },
      { title: "ID", cell: ({ id }) => paint.cyan(idOf(id)) },
      ...(isMixed ? [{ title: "AGENT", cell: ({ source }: Row) => piece(source) }] : []),
      {
        title: isNarrow ? "LAST ACTIVE" : "LAST ACTIVITY",
        cell: ({ lastActivityAt }) => paint.dim(timeOf(lastActivityAt)),
      },
      { title: "MSGS", align: "right", cell: ({ messageCount }) => piece(count(messageCount)) },
      ...(isNarrow ? [] : [{ title: "AGENTS", align: "right" as const, cell: agentsCell(paint) }]),
      { title: "PROJECT", cell: ({ projectPath }) => paint.blue(shortenPath(projectPath, projectWidth)) },
    ];
    const withoutCount = (columns: readonly ListColumn[]) => columns.filter(({ title }) => title !== "MSGS");
    // In a narrow terminal, the title is more useful than the message count and the beginning of the path.
    const layouts = isNarrow
      ? [columnsWith(14), withoutCount(columnsWith(14)), withoutCount(columnsWith(10))]
      : [columnsWith(Math.min(36, Math.floor(screen.columns / 4)))];
    const leftBy = (columns: readonly ListColumn[]): number => titleWidth(screen.columns, columns, data);
    const shown = layouts.find((columns) => leftBy(columns) >= USUAL_TITLE) ?? layouts.at(-1) ?? [];
    const width = Math.max(LEAST_TITLE, leftBy(shown));
    const rows = data.map((session, at) => [
      ...shown.map(({ cell }) => cell(session, at)),
      titleCell(session, width, paint),
    ]);
    await screen.print(...table([...shown, { title: "TITLE" }], rows, screen.columns));
    const { total, hasMore } = pagination;
    if (hasMore) {
      const next = offset + data.length;
      await screen.print(
        paint.dim(
          styledText`${next - data.length + 1} to ${next} of ${counted(total, "session")}; --offset ${next} shows the next ones`,
        ),
      );
    }
    // An index counts only the sessions that these options select, so the next command needs the same options.
    const chosen = [
      ...(values.root ?? []).map((root) => ` --root ${shellQuoted(root)}`),
      ...(values.source ?? []).map((source) => ` --source ${source}`),
      ...(values.project === undefined ? [] : [` --project ${shellQuoted(values.project)}`]),
      ...(values.since === undefined ? [] : [` --since ${values.since.toISOString()}`]),
      ...(values.until === undefined ? [] : [` --until ${values.until.toISOString()}`]),
      ...(values.archive ? [] : [" --no-archive"]),
    ].join("");
    if (chosen !== "")
      await screen.print(
        ...wrap(`skein history show ${offset}${chosen} reads the first of these`, screen.columns).map(paint.dim),
      );
    return EXIT.completed;
  },
});

/** A terminal with fewer characters per line has no room for every column of the list. */
const NARROW = 100;

/** If a title would get fewer characters, the list leaves out the message counts and shortens the project paths. */
const USUAL_TITLE = 16;
const LEAST_TITLE = 10;

type Row = SessionSummary;

interface ListColumn extends Column {
  cell(row: Row, at: number): Styled;
}

/** Returns the width that remains for the title. */
function titleWidth(columns: number, shown: readonly ListColumn[], data: readonly Row[]): number {
  if (!Number.isFinite(columns)) return 200;
  const widths = shown.map(({ title, cell }) =>
    Math.max(widthOf(title), ...data.map((session, at) => cell(session, at).width)),
  );
  return columns - widths.reduce((sum, width) => sum + width + 2, 0);
}

function titleCell({ summary, isArchived }: Row, width: number, paint: Paint): Piece {
  const mark = isArchived ? "(archived) " : "";
  if (summary === null) return paint.dim(`${mark}(no title)`);
  return styledText`${paint.dim(mark)}${shorten(summary, Math.max(LEAST_TITLE, width - mark.length))}`;
}

function agentsCell(paint: Paint): ListColumn["cell"] {
  return ({ agentIds }) => (agentIds.length === 0 ? piece("") : paint.dim(count(agentIds.length)));
}
