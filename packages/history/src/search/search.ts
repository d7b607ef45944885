import { pageOf, type LibraryConfig } from "../config.ts";
import type { DataFile } from "../model/data-file.ts";
import { discover } from "../sources/discover.ts";
import type { FacetStore } from "../facets/facet.ts";
import { findSession } from "../get/get-session.ts";
import { agentsBySession, parentOf } from "../sources/claude-code/agents/agent-files.ts";
import { projectPathOf } from "../sources/claude-code/details/project-path.ts";
import type { SessionDetails } from "../sources/claude-code/details/session-details.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions, readDetails } from "../list/sessions.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import type { SourceName } from "../sources/port/source.ts";
import { isTitle } from "../sources/claude-code/search/line-texts.ts";
import { createTitles } from "../sources/claude-code/details/title.ts";
import { pageOfTotal } from "../model/paginate.ts";
import type { MessageType, PaginatedResult } from "../model/types.ts";
import { stringOf } from "../model/value.ts";
import type { TextFilter } from "./match-line.ts";
import { parseQuery } from "./query.ts";
import { searchFiles, type FoundLine } from "./search-files.ts";
import { createTopItems } from "./top-items.ts";

export interface SearchMatch {
  readonly sessionId: string;
  /** The coding agent that wrote the session. */
  readonly source: SourceName;
  /** The id of the line. If the line belongs to an answer, the id is in the `lineUuids` of the answer. */
  readonly messageUuid: string;
  readonly messageType: MessageType;
  readonly match: string;
  /** The line of the match with the lines around it. */
  readonly context: readonly string[];
  /** The line number within the text of the message's block, starting at 1. */
  readonly lineNumber: number;
  /** The kind of the matching text: a prompt that a person typed, text, thinking, a tool's input or its result. */
  readonly kind: "prompt" | "text" | "thinking" | "tool_use" | "tool_result" | "other";
  readonly toolName: string | null;
  readonly agentId: string | null;
  readonly timestamp: Date;
  /** True if the line has no time, such as a title. If so, `timestamp` is the session's last activity. */
  readonly timestampIsInferred: boolean;
  /** Whether the text is a title of the session, not a message. */
  readonly isTitle: boolean;
  readonly score: number;
  readonly sessionSummary: string | null;
  readonly projectPath: string;
  readonly path: string;
  /** The line number in the file, starting at 1. */
  readonly fileLine: number;
  /** Where the line begins in the file, in bytes. */
  readonly fileOffset: number;
}

export interface SearchOptions extends LibraryConfig, TextFilter {
  /** Whether the transcripts of subagents are searched too. Default: true. */
  readonly includeAgents?: boolean;
}

/** Up to this number, matches are counted exactly. With more matches, only lines that may be on the page are read. */
const exactTotal = 500;

/**
 * Searches all sessions. Matches in prompts and answers come before tool output, whole words before parts, new before
 * old. The total is exact up to 500. With more matches, only lines that may be on the page are read.
 */
export async function searchSessions(
  query: string,
  options: SearchOptions = {},
): Promise<PaginatedResult<SearchMatch>> {
  const page = pageOf(options);
  const parsed = parseQuery(query);
  if (parsed.terms.length === 0) return pageOfTotal([], 0, page);
  return await withStore(options, async (store) => {
    const files = await filesToSearch(options, store);
    const wanted = page.offset + page.limit;
    const top = createTopItems<Hit>(wanted, compareHits);
    let total = 0;
    const isWorth = (score: number, time: number, file: DataFile, offset: number): boolean => {
      const worst = top.worst();
      return (
        worst === undefined || compareHits({ line: { file, time, line: { offset } }, found: { score } }, worst) <= 0
      );
    };
    const limits = { ...limitsOf(options), context: page.context, store };
    const choice = { isOpen: () => total <= Math.max(exactTotal, wanted), isWorth };
    const { isComplete } = await searchFiles(files, parsed, { ...limits, choice }, (line) => {
      for (const found of line.found) {
        total += 1;
        top.add({ line, found });
      }
    });
    const hits = top.sorted().slice(page.offset);
    const { data, pagination } = pageOfTotal(await describe(hits, options, store), total, page);
    return { data, pagination: isComplete ? pagination : { ...pagination, totalIsAtLeast: true } };
  });
}

/** Searches one session and its subagents. Matches are in the order of the files. */
export async function searchInSession(
  idOrIndex: number | string,
  query: string,
  options: SearchOptions = {},
): Promise<readonly SearchMatch[]> {
  const { context } = pageOf(options);
  const parsed = parseQuery(query);
  return await withStore(options, async (store) => {
    const { file, order } = await findSession(idOrIndex, options, store);
    if (parsed.terms.length === 0) return [];
    const agents = agentsBySession(order.discovered.files, [file]).get(file) ?? [];
    const files = options.includeAgents === false ? [file] : [file, ...agents];
    const hits: Hit[] = [];
    await searchFiles(files, parsed, { ...limitsOf(options), context, store }, (line) => {
      for (const found of line.found) hits.push({ line, found });
    });
    return await describe(hits, options, store);
  });
}

interface Hit {
  readonly line: FoundLine;
  readonly found: FoundLine["found"][number];
}

/** The values that order matches: a better score, a newer time, the position in the file. */
interface Placed {
  readonly line: { readonly file: DataFile; readonly time: number; readonly line: { readonly offset: number } };
  readonly found: { readonly score: number };
}

function compareHits(a: Placed, b: Placed): number {
  const order = b.found.score - a.found.score || b.line.time - a.line.time || a.line.line.offset - b.line.line.offset;
  if (order !== 0 || a.line.file === b.line.file) return order;
  return a.line.file.path < b.line.file.path ? -1 : 1;
}

function limitsOf({ role, tool, since, until, signal }: SearchOptions): {
  filter: TextFilter;
  since: number;
  until: number;
  signal: AbortSignal | undefined;
} {
  return {
    filter: { role, tool },
    since: since === undefined ? Number.NEGATIVE_INFINITY : Number(since),
    until: until === undefined ? Number.POSITIVE_INFINITY : Number(until),
    signal,
  };
}

async function filesToSearch(options: SearchOptions, store: FacetStore): Promise<readonly DataFile[]> {
  const withAgents = options.includeAgents !== false;
  if (options.workspace === undefined) {
    const { files } = discover(options);
    return withAgents ? files : files.filter((file) => file.kind === "session");
  }
  const { since: _since, until: _until, ...rest } = options;
  const order = await orderSessions(rest, store);
  const agents = agentsBySession(order.discovered.files, order.files);
  return order.files.flatMap((file) => [file, ...(withAgents ? (agents.get(file) ?? []) : [])]);
}

/** Adds titles and projects to matches. Only the sessions of these matches are read. */
async function describe(
  hits: readonly Hit[],
  options: SearchOptions,
  store: FacetStore,
): Promise<readonly SearchMatch[]> {
  const details = new Map<DataFile, SessionDetails>();
  const shown = [...new Set(hits.map(({ line }) => line.file))];
  await readDetails(shown, details, options, store);
  const titles = options.titles ?? createTitles();
  const titled = new Map([...details].map(([file, known]) => [file, titles.of(file, known)]));
  return hits.map(({ line: { file, line, time, hasTime }, found }) => {
    const known = details.get(file);
    return {
      sessionId: file.sessionId ?? parentOf(file) ?? "",
      source: sourceOfRoot(file.root),
      messageUuid: stringOf(line.value["uuid"]) ?? `line:${line.line}`,
      messageType: stringOf(line.value["type"]) ?? "unknown",
      isTitle: isTitle(line.value["type"]),
      match: found.match,
      context: found.context,
      lineNumber: found.lineNumber,
      kind: found.kind,
      toolName: found.toolName ?? null,
      agentId: file.agentId ?? null,
      timestamp: new Date(hasTime ? time : (known?.lastTime ?? time)),
      timestampIsInferred: !hasTime,
      score: found.score,
      sessionSummary: titled.get(file) ?? null,
      projectPath: known ? projectPathOf(known, file.encodedPath).projectPath : file.encodedPath,
      path: file.path,
      fileLine: line.line,
      fileOffset: line.offset,
    };
  });
}
