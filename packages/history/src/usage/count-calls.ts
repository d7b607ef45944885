/**
 * Counts each call once over all files. If a resume or a fork copied a call into a later file, the copy can only raise
 * the counters.
 */
import { earlierPrice, picosOfCall, priceOfSum, WEB_SEARCH_MICROS } from "@skein/protocol/prices";
import type { DataFile } from "../model/data-file.ts";
import { projectPathOf } from "../sources/claude-code/details/project-path.ts";
import { createCallColumns, type CallColumns, type RowRange } from "./call-columns.ts";
import type { FileUsage } from "../sources/claude-code/usage/file-usage.ts";
import { newPricedCall, type PricedCall, type ReusedCall } from "./tally.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import type { SourceName } from "../sources/port/source.ts";
import { column, valueOf } from "./usage-table.ts";

/** The session to which a call belongs. Calls of a subagent belong to the parent session. */
export interface Owner {
  readonly sessionId: string;
  /** The coding agent that wrote the session. */
  readonly source: SourceName;
  readonly projectPath: string;
  readonly costStateUsd: number | null;
}

/** Receives the usage of files, and then returns every call once, with its price and its session. */
export interface CallCounter {
  /**
   * Adds the usage of a file. The caller passes the file later to the returned function, because the file of another
   * agent's session is not known yet. Keeping the usage until then would fill the memory.
   */
  add(usage: FileUsage): (file: DataFile) => void;
  /**
   * Calls `onCall` for every call. All calls use one object, so copy what must be kept. Returns the sessions of all
   * files, also those without a call.
   */
  count(onCall: (call: PricedCall, owner: Owner) => void): readonly Owner[];
}

/** The data of a file without its calls, which are in the columns. */
interface CountedFile extends RowRange {
  readonly file: DataFile;
  readonly since: number;
  /** The project path, or undefined if no line contains a path. */
  readonly projectPath: string | undefined;
  readonly sessionId: string;
  readonly costStateUsd: number | null;
  readonly searches: FileUsage["searches"] | undefined;
}

export function createCallCounter(): CallCounter {
  const columns = createCallColumns();
  const files: CountedFile[] = [];
  let added = 0;
  return {
    add(usage) {
      const index = added;
      added += 1;
      const first = columns.add(usage.table, index);
      const range = { first, end: first + usage.table.ids.length, since: earliest(usage) };
      const { table: _inColumns, searches, sessionId, costStateUsd, ...place } = usage;
      return (file) => {
        const { projectPath, projectPathSource } = projectPathOf(place, file.encodedPath);
        files.push({
          ...range,
          file,
          projectPath: projectPathSource === "folder" ? undefined : projectPath,
          sessionId: file.sessionId ?? sessionId,
          costStateUsd,
          searches: searches.size === 0 ? undefined : searches,
        });
      };
    },
    count(onCall) {
      const ordered = files.toSorted((a, b) => a.since - b.since || (a.file.path < b.file.path ? -1 : 1));
      const owners = ownersOf(ordered);
      const isCopy = columns.mergeCopies(ordered);
      const seen = new Set<string>();
      const call = newPricedCall();
      for (const counted of ordered) {
        const owner = owners.get(counted.file);
        if (!owner) continue;
        let searches = 0;
        for (let row = counted.first; row < counted.end; row += 1) {
          if (isCopy(row) || isEmpty(columns, row)) continue;
          searches += columns.value(row, column.searches);
          onCall(readCall(call, columns, row), owner);
        }
        if (searches > 0) continue;
        for (const [uuid, { time, count }] of counted.searches ?? []) {
          if (seen.has(uuid)) continue;
          seen.add(uuid);
          onCall(searchFee(time, count), owner);
        }
      }
      return [...owners.values()];
    },
  };
}

/**
 * Returns true for a line without tokens, which is not a call. Skein writes such a line when it exports a simulated
 * answer, or an answer of another agent, for Claude Code.
 */
function isEmpty(columns: CallColumns, row: number): boolean {
  for (let which = 0; which <= column.searches; which += 1) if (columns.value(row, which) > 0) return false;
  return true;
}

function ownersOf(ordered: readonly CountedFile[]): ReadonlyMap<DataFile, Owner> {
  const keyOf = ({ file, sessionId }: CountedFile): string => `${file.root}\0${file.encodedPath}\0${sessionId}`;
  const isOwn = ({ file }: CountedFile): boolean => file.kind === "session" && file.sessionId !== undefined;
  const projects = new Map<string, string>();
  const states = new Map<string, number | null>();
  // The lines of the session are used first. Lines of its subagents are used if the session has no lines.
  for (const counted of ordered.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)))) {
    const key = keyOf(counted);
    if (counted.projectPath !== undefined && !projects.has(key)) projects.set(key, counted.projectPath);
    if (isOwn(counted)) states.set(key, counted.costStateUsd);
  }
  const bySession = new Map<string, Owner>();
  const owners = new Map<DataFile, Owner>();
  for (const counted of ordered) {
    const key = keyOf(counted);
    const { sessionId, file } = counted;
    const projectPath = projects.get(key) ?? file.encodedPath;
    const owner = bySession.get(key) ?? {
      sessionId,
      source: sourceOfRoot(file.root),
      projectPath,
      costStateUsd: states.get(key) ?? null,
    };
    bySession.set(key, owner);
    owners.set(file, owner);
  }
  return owners;
}

function earliest({ table }: FileUsage): number {
  let first = Number.POSITIVE_INFINITY;
  for (let row = 0; row < table.ids.length; row += 1) {
    const time = valueOf(table, row, column.time);
    if (time > 0 && time < first) first = time;
  }
  // Sorting subtracts these times, and Infinity - Infinity is NaN.
  return Number.isFinite(first) ? first : Number.MAX_SAFE_INTEGER;
}

/** The tokens of the call whose price is computed. All calls use this one object. */
const priced = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  server_tool_use: { web_search_requests: 0 },
  speed: "standard",
};

function readCall(call: ReusedCall, columns: CallColumns, row: number): PricedCall {
  const write5m = columns.value(row, column.cacheWrite5m);
  const write1h = columns.value(row, column.cacheWrite1h);
  call.time = columns.value(row, column.time);
  call.model = columns.model(row);
  call.inputTokens = columns.value(row, column.input);
  call.outputTokens = columns.value(row, column.output);
  call.cacheCreationInputTokens = columns.value(row, column.cacheWrite);
  call.cacheCreation1hInputTokens = write5m + write1h === call.cacheCreationInputTokens ? write1h : 0;
  call.cacheReadInputTokens = columns.value(row, column.cacheRead);
  call.webSearchRequests = columns.value(row, column.searches);
  call.calls = 1;
  priced.input_tokens = call.inputTokens;
  priced.output_tokens = call.outputTokens;
  priced.cache_creation_input_tokens = call.cacheCreationInputTokens;
  priced.cache_read_input_tokens = call.cacheReadInputTokens;
  priced.cache_creation.ephemeral_5m_input_tokens = write5m;
  priced.cache_creation.ephemeral_1h_input_tokens = write1h;
  priced.server_tool_use.web_search_requests = call.webSearchRequests;
  priced.speed = (columns.value(row, column.flags) & 1) === 0 ? "standard" : "fast";
  const { model, time } = call;
  const isSum = (columns.value(row, column.flags) & 4) !== 0;
  const given = isSum ? priceOfSum(model, time) : time > 0 ? earlierPrice(model, time) : undefined;
  call.costPicos = picosOfCall(model, priced, given);
  return call;
}

/** Returns the fee for web searches. The model call that made the search is in no transcript. */
function searchFee(time: number, count: number): PricedCall {
  return {
    time,
    model: "web-search",
    inputTokens: 0,
    outputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheCreation1hInputTokens: 0,
    cacheReadInputTokens: 0,
    webSearchRequests: count,
    calls: 0,
    costPicos: count * WEB_SEARCH_MICROS * 1_000_000,
  };
}
