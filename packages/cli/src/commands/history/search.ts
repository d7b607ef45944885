import {
  type LibraryConfig,
  buildIndex,
  searchInSession,
  searchSessions,
  type PaginatedResult,
  type SearchMatch,
  type SearchOptions,
} from "@skein/history";
import { agentTitles } from "@skein/history/sources";
import { historyCommand } from "./command.ts";
import { shortIds } from "./short-names.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { oneOf, wholeNumber } from "../../terminal/option-kinds.ts";
import { sessionWord } from "./options.ts";
import { pageOf } from "./page.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Piece, type Styled, joined, styledText } from "../../terminal/styled.ts";
import { visible } from "../../terminal/visible-text.ts";
import { shorten, widthOf } from "../../terminal/width.ts";
import { count, counted } from "../../terminal/counts.ts";
import { shortTime } from "../../terminal/times.ts";

export const search = historyCommand({
  name: "history search",
  summary: 'Find words, "phrases" and /patterns/ in prompts, answers, tool calls and results',
  words: "[TEXT…]",
  usesPager: true,
  options: {
    role: {
      takes: "ROLE",
      kind: oneOf("user", "assistant", "human"),
      about: "Only messages with this role: user, assistant, or human (typed by a person)",
    },
    tool: { takes: "NAME", about: "Only calls of this tool" },
    session: { takes: "SESSION", short: "s", about: "Only in this session and its subagents" },
    context: { takes: "N", short: "c", kind: wholeNumber(), about: "Lines around each match (default 2)" },
    subagents: { isOn: true, about: "Leave out subagents" },
  },
  examples: [
    ["skein history search flaky test", "Messages with both words"],
    [`skein history search '"out of memory"' --since 30d`, "A phrase, in the last 30 days"],
    [
      "skein history search '/E[A-Z]{4,}/' --tool Bash",
      "A pattern, in calls of one tool; a capital letter makes it case-sensitive",
    ],
    ["skein history search migrate --role human --project .", "What you asked for in this project"],
  ],
  async run({ screen, values, words, library }) {
    const query = queryOf(words);
    if (query.trim() === "") throw new UsageError('What to search for? Give words, a "phrase" or a /pattern/.');
    const options: SearchOptions = {
      ...library,
      includeAgents: values.subagents,
      ...(values.role === undefined ? {} : { role: values.role }),
      ...(values.tool === undefined ? {} : { tool: values.tool }),
      ...(values.context === undefined ? {} : { context: values.context }),
    };
    screen.progress(styledText`Searching …`);
    const found =
      values.session === undefined
        ? await searchSessions(query, options)
        : pageOf(await searchInSession(sessionWord(values.session), query, options), options);
    screen.progress(undefined);
    if (values.json) await screen.json(found);
    else await screen.print(...matchLines(found, screen, options.context ?? 2));
    // The index is updated while a person reads the results, so the next search is faster.
    if (screen.isTerminal && library.cacheFolder !== null) await bringIndexUpToDate(library, screen);
    return EXIT.completed;
  },
});

export async function bringIndexUpToDate(library: LibraryConfig, screen: StyledScreen): Promise<void> {
  const onProgress = (done: number, total: number): void => {
    if (done % 20 === 0)
      screen.progress(styledText`Indexing: ${done} of ${total} files (Ctrl-C stops, nothing is lost)`);
  };
  await buildIndex({ ...library, onProgress });
  screen.progress(undefined);
}

/**
 * Returns the query. A single argument is the query. Of several arguments, an argument with spaces is a phrase, because
 * the shell removed its quotes.
 */
export function queryOf(words: readonly string[]): string {
  if (words.length === 1) return words[0] ?? "";
  return words
    .map((word) => (/\s/.test(word) && !/^["/]/.test(word) ? `"${word.replaceAll('"', "")}"` : word))
    .join(" ");
}

function matchLines(found: PaginatedResult<SearchMatch>, screen: StyledScreen, context: number): readonly Styled[] {
  const { paint } = screen;
  const { data, pagination } = found;
  if (pagination.total === 0) return [styledText`Nothing found.`];
  const lines: Styled[] = [];
  const idOf = shortIds(data.map(({ sessionId }) => sessionId));
  let last = "";
  for (const match of bySession(data)) {
    const place = placeOf(match);
    if (place !== last) {
      const source = match.source === "claude-code" ? "" : ` · ${agentTitles[match.source]}`;
      const agent = match.agentId === null ? "" : ` · subagent ${match.agentId}`;
      const most = Math.min(80, screen.columns);
      const title = shorten(visible(match.sessionSummary ?? "(no title)"), most);
      const where = styledText`${paint.cyan(idOf(match.sessionId))}${paint.dim(` · ${match.projectPath}${source}${agent}`)}`;
      const isNarrow = widthOf(title) + 2 + where.width > screen.columns;
      lines.push(
        styledText``,
        ...(isNarrow ? [paint.bold(title), where] : [styledText`${paint.bold(title)}  ${where}`]),
      );
    }
    last = place;
    const kind = match.isTitle ? "title of the session" : kindNames[match.kind];
    const about = [
      ...(match.timestampIsInferred ? [] : [shortTime(match.timestamp)]),
      match.toolName === null ? kind : `${kind} ${match.toolName}`,
      `line ${match.fileLine}`,
    ];
    lines.push(paint.dim(styledText`  ${about.join(" · ")}`));
    const hitAt = Math.min(context, match.lineNumber - 1);
    match.context.forEach((line, at) => {
      lines.push(
        at === hitAt
          ? styledText`  ${paint.green("▸")} ${marked(visible(line), visible(match.match), screen)}`
          : paint.dim(styledText`    ${shorten(line, widthFor(screen))}`),
      );
    });
  }
  const next = pagination.offset + data.length;
  const atLeast = pagination.totalIsAtLeast ? "at least " : "";
  const more = pagination.hasMore ? `; --offset ${next} shows the next ones` : "";
  lines.push(
    styledText``,
    paint.dim(styledText`${count(data.length)} of ${atLeast}${counted(pagination.total, "match", "matches")}${more}`),
  );
  return lines;
}

const placeOf = ({ path, sessionId }: SearchMatch): string => `${path}\0${sessionId}`;

/** Matches are sorted by rank. A page shows the matches of one session together, at the place of the best of them. */
function bySession(matches: readonly SearchMatch[]): readonly SearchMatch[] {
  return [...Map.groupBy(matches, placeOf).values()].flat();
}

const kindNames: Readonly<Record<SearchMatch["kind"], string>> = {
  prompt: "you",
  text: "said",
  thinking: "thought",
  tool_use: "called",
  tool_result: "result",
  other: "noted",
};

/** Shortens a line so that the match stays visible. */
function marked(line: string, match: string, screen: StyledScreen): Styled {
  const needle = (match.split("\n", 1)[0] ?? "").toLowerCase();
  const width = widthFor(screen);
  const lower = line.toLowerCase();
  const first = needle === "" ? -1 : lower.indexOf(needle);
  if (first < 0 || lower.length !== line.length) return styledText`${shorten(line, width)}`;
  const start = line.length <= width ? 0 : Math.max(0, first - Math.floor(width / 3));
  const end = Math.min(line.length, start + Math.max(width, needle.length));
  const pieces: Piece[] = start > 0 ? ["…"] : [];
  let at = start;
  for (let hit = lower.indexOf(needle, start); hit >= 0 && hit < end; hit = lower.indexOf(needle, at)) {
    pieces.push(line.slice(at, hit).replaceAll("\t", " "), screen.paint.mark(line.slice(hit, hit + needle.length)));
    at = hit + needle.length;
  }
  pieces.push(line.slice(at, Math.max(at, end)), end < line.length ? "…" : "");
  return joined(pieces);
}

function widthFor({ columns }: StyledScreen): number {
  return Number.isFinite(columns) ? columns - 6 : 300;
}
