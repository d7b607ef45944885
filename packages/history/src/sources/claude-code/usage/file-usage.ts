/**
 * Reads the model calls in one file, each once, and its project and web searches.
 *
 * A call has one line per content block, and its early lines have placeholders. Resumes and forks write the call again.
 * The facet reads only lines with `"usage"`, and only their counters.
 */
import type { Facet } from "../../../facets/facet.ts";
import type { Region } from "../../../scan/line-splitter.ts";
import { parseLine } from "../../../scan/parse-line.ts";
import { newPeek, peekLine } from "../format/peek-line.ts";
import { mayBeBroken } from "../../../scan/broken-lines.ts";
import type { ByteSearch, Needle } from "../../../scan/byte-search.ts";
import { readAnyAnswer } from "./any-answer.ts";
import { readPlainAnswer } from "./plain-answer.ts";
import { addCall, decodeTable, encodeTable, newCall, newTable, type UsageTable } from "../../../usage/usage-table.ts";

export interface FileUsage {
  readonly table: UsageTable;
  /** Web searches whose number is only in the tool result, by the uuid of the line. */
  readonly searches: Map<string, { readonly time: number; readonly count: number }>;
  /** The first working directory, if any line has one. */
  readonly cwds: string[];
  relocatedCwd: string | null;
  worktreeOriginalCwd: string | null;
  /** The session id in the lines. In a subagent's file this is the id of the parent session. */
  sessionId: string;
  /** The cost of the session, as Claude Code computed it: the largest of the values in the file. */
  costStateUsd: number | null;
}

export const usageFacet: Facet<FileUsage> = {
  name: "usage",
  version: 4,
  start: () => ({
    table: newTable(),
    searches: new Map(),
    cwds: [],
    relocatedCwd: null,
    worktreeOriginalCwd: null,
    sessionId: "",
    costStateUsd: null,
  }),
  fold(state, region, search) {
    const needles = needlesOf(search);
    if (state.cwds.length === 0) notePlace(state, region);
    eachLineWith(region, search, needles.usage, (start, end, hit) => {
      // If a line has two `usage` keys, the input of a tool may contain one of them. So the whole line is read.
      const isOnly = search.find(needles.usage, hit + needles.usage.length, end) < 0;
      // If a broken line contains a second record, this record begins with `{"parentUuid"`.
      const isOne = !mayBeBroken(search, start, end) && search.find(needles.record, start + 1, end) < 0;
      if (!isOnly || !isOne || !readPlainAnswer(state.table, search, { start, end, hit })) {
        readAnyAnswer(region.bytes, start, end, call, (found) => addCall(state.table, found));
      }
    });
    eachLineWith(region, search, needles.searchCount, (start, end) => readSearchCount(state, region.bytes, start, end));
    eachLineWith(region, search, needles.state, (start, end) => readMetadata(state, region.bytes, start, end));
    eachLineWith(region, search, needles.relocated, (start, end) => readMetadata(state, region.bytes, start, end));
  },
  encode(state) {
    const { text, numbers } = encodeTable(state.table);
    const { cwds, relocatedCwd, worktreeOriginalCwd, sessionId, costStateUsd } = state;
    const searches = [...state.searches].map(([uuid, { time, count }]) => [uuid, time, count]);
    const header = Buffer.from(
      JSON.stringify({ cwds, relocatedCwd, worktreeOriginalCwd, sessionId, costStateUsd, searches, ...text }),
    );
    const length = Buffer.alloc(8);
    length.writeUInt32LE(numbers.length);
    return Buffer.concat([length, numbers, header]);
  },
  decode(data) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
    const numbersEnd = 8 + bytes.readUInt32LE(0);
    const header = JSON.parse(bytes.toString("utf8", numbersEnd)) as Header;
    return {
      table: decodeTable(header, bytes.subarray(8, numbersEnd)),
      searches: new Map(header.searches.map(([uuid, time, count]) => [uuid, { time, count }])),
      cwds: [...header.cwds],
      relocatedCwd: header.relocatedCwd,
      worktreeOriginalCwd: header.worktreeOriginalCwd,
      sessionId: header.sessionId,
      costStateUsd: header.costStateUsd,
    };
  },
};

interface Header {
  readonly cwds: readonly string[];
  readonly relocatedCwd: string | null;
  readonly worktreeOriginalCwd: string | null;
  readonly sessionId: string;
  readonly costStateUsd: number | null;
  readonly searches: readonly (readonly [string, number, number])[];
  readonly ids: string;
  readonly requestIds: string;
  readonly models: string[];
}

const call = newCall();

interface Needles {
  readonly usage: Needle;
  readonly record: Needle;
  readonly searchCount: Needle;
  readonly state: Needle;
  readonly relocated: Needle;
}

const prepared = new WeakMap<ByteSearch, Needles>();

function needlesOf(search: ByteSearch): Needles {
  const known = prepared.get(search);
  if (known) return known;
  const needles = {
    usage: search.needle(Buffer.from('"usage"')),
    record: search.needle(Buffer.from('{"parentUuid"')),
    // This is the end of `"searchCount"`. A search is faster if the first byte is rare, and quotes are frequent.
    searchCount: search.needle(Buffer.from('chCount"')),
    // Finds both `cost-state` and `worktree-state`.
    state: search.needle(Buffer.from('-state"')),
    relocated: search.needle(Buffer.from('relocated"')),
  };
  prepared.set(search, needles);
  return needles;
}

type OnHit = (start: number, end: number, hit: number) => void;

function eachLineWith(region: Region, search: ByteSearch, needle: Needle, onLine: OnHit): void {
  const { bytes } = region;
  let at = region.start;
  for (let hit = search.find(needle, at, region.end); hit >= 0; hit = search.find(needle, at, region.end)) {
    const start = bytes.lastIndexOf(0x0a, hit) + 1;
    let end = bytes.indexOf(0x0a, hit);
    if (end < 0 || end > region.end) end = region.end;
    onLine(start, end, hit);
    at = end + 1;
  }
}

const peek = newPeek();

/** Takes the project from the first line with a working directory. */
function notePlace(state: FileUsage, region: Region): void {
  const { bytes } = region;
  for (let start = region.start; start < region.end;) {
    let end = bytes.indexOf(0x0a, start);
    if (end < 0 || end > region.end) end = region.end;
    // A line that does not look like a record may contain one.
    const mayTell = !peekLine(bytes, start, end, peek) || peek.cwdStart >= 0;
    for (const { cwd, sessionId } of mayTell ? recordsIn(bytes, start, end) : []) {
      if (typeof sessionId === "string") state.sessionId = sessionId;
      if (typeof cwd !== "string") continue;
      state.cwds.push(cwd);
      return;
    }
    start = end + 1;
  }
}

function readSearchCount(state: FileUsage, bytes: Buffer, start: number, end: number): void {
  for (const { toolUseResult, uuid, timestamp } of recordsIn(bytes, start, end)) {
    const result = toolUseResult as { searchCount?: unknown } | null | undefined;
    if (typeof result?.searchCount !== "number" || typeof uuid !== "string") continue;
    const time = typeof timestamp === "string" ? Date.parse(timestamp) || 0 : 0;
    state.searches.set(uuid, { time, count: result.searchCount });
  }
}

function readMetadata(state: FileUsage, bytes: Buffer, start: number, end: number): void {
  for (const line of recordsIn(bytes, start, end)) {
    if (line["type"] === "cost-state" && typeof line["totalCostUSD"] === "number") {
      state.costStateUsd = Math.max(state.costStateUsd ?? 0, line["totalCostUSD"]);
    } else if (line["type"] === "relocated" && typeof line["relocatedCwd"] === "string") {
      state.relocatedCwd = line["relocatedCwd"];
    } else if (line["type"] === "worktree-state") {
      const session = line["worktreeSession"] as { readonly originalCwd?: unknown } | null | undefined;
      state.worktreeOriginalCwd = typeof session?.originalCwd === "string" ? session.originalCwd : null;
    }
  }
}

/** Returns the complete records of a line. A broken line may have several. */
function recordsIn(bytes: Buffer, start: number, end: number): readonly Readonly<Record<string, unknown>>[] {
  return parseLine(bytes.subarray(start, end), { line: 1, offset: start }, () => {}).map(({ value }) => value);
}
