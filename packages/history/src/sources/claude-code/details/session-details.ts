/** The details of a session for a list, computed from the transcript without parsing most of its lines. */
import type { Facet } from "../../../facets/facet.ts";
import { humanPrompt } from "../format/human-prompt.ts";
import { findKeys, keys, newFound } from "../../../scan/json-scan.ts";
import { forEachLine, type Region } from "../../../scan/line-splitter.ts";
import { formatLine } from "../../../scan/parse-line.ts";
import { findTimestamp, newPeek, peekLine, type Peek } from "../format/peek-line.ts";
import { brokenLines } from "../../../scan/broken-lines.ts";
import { compare, latin1, oneLine, parse, text } from "../../../scan/line-text.ts";
import { noteSummary, settleSummaries, type Summaries } from "./old-summaries.ts";

export interface SessionDetails extends Summaries {
  lines: number;
  /**
   * The number of user and assistant messages without side chains. An answer counts once, even if it has several lines.
   */
  messageCount: number;
  firstTime: string | null;
  lastTime: string | null;
  /** The time of the first snapshot or queue operation, if it comes before all messages. */
  otherTime: string | null;
  /** Every working directory, in the order in which they appear. */
  cwds: string[];
  version: string;
  gitBranch: string | null;
  /** The `sessionId` of the first line that has one. In a subagent's file it is the parent's id. */
  sessionId: string | null;
  customTitle: string | null;
  aiTitle: string | null;
  lastPrompt: string | null;
  firstPrompt: string | null;
  relocatedCwd: string | null;
  worktreeOriginalCwd: string | null;
  /** Hashes of the ids of answers. Later lines of an answer are recognised by them and not counted again. */
  answerIds: Set<number>;
}

export const sessionDetailsFacet: Facet<SessionDetails> = {
  name: "facts",
  version: 7,
  start: () => ({
    lines: 0,
    messageCount: 0,
    firstTime: null,
    lastTime: null,
    otherTime: null,
    cwds: [],
    version: "",
    gitBranch: null,
    sessionId: null,
    customTitle: null,
    aiTitle: null,
    summary: null,
    openSummaries: [],
    lastPrompt: null,
    firstPrompt: null,
    relocatedCwd: null,
    worktreeOriginalCwd: null,
    answerIds: new Set(),
  }),
  fold(state, region, search) {
    if (region.bytes.buffer !== search.buffer().buffer) {
      foldLines(state, region);
      return;
    }
    let { start } = region;
    for (const broken of brokenLines(region, search)) {
      foldLines(state, { ...region, start, end: broken.start });
      const bytes = Buffer.concat(broken.records.map(formatLine));
      foldLines(state, { bytes, start: 0, end: bytes.length });
      state.lines -= broken.records.length - 1;
      start = broken.end;
    }
    foldLines(state, { ...region, start });
  },
  encode: (state) => {
    const ids = Buffer.from(Uint32Array.from(state.answerIds).buffer).toString("base64");
    return Buffer.from(JSON.stringify({ ...state, answerIds: ids }));
  },
  decode(data) {
    const saved = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as Omit<
      SessionDetails,
      "answerIds"
    > & { answerIds: string };
    const ids = Buffer.from(saved.answerIds, "base64");
    const numbers = new Uint32Array(ids.buffer.slice(ids.byteOffset, ids.byteOffset + ids.length));
    return { ...saved, answerIds: new Set(numbers) };
  },
};

/** Decodes saved details for a list, without the ids of answers. Only counting further lines needs these ids. */
export function listedDetails(data: Uint8Array): SessionDetails {
  const saved = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as SessionDetails;
  return Object.assign(saved, { answerIds: noIds });
}

const noIds = new Set<number>();
const lastTimeKey = Buffer.from('"lastTime":');

/** Finds the time of the last message in saved details without decoding the details. Null if no message has a time. */
export function lastTimeIn(data: Uint8Array): string | null {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  // A text cannot contain the key, because quotes in a text are escaped.
  const at = bytes.indexOf(lastTimeKey) + lastTimeKey.length;
  const end = bytes.indexOf(0x22, at + 1);
  return bytes[at] === 0x22 ? (JSON.parse(bytes.toString("utf8", at, end + 1)) as string) : null;
}

const peek: Peek = newPeek();
/** The last line of a region, if its time is between two nested values. Only such a line is searched as a whole. */
let untimed = { start: -1, end: -1 };

type Lines = Pick<Region, "bytes" | "start" | "end">;

/** Folds lines. Every line must be a whole record. */
function foldLines(state: SessionDetails, lines: Lines): void {
  const { bytes } = lines;
  untimed = { start: -1, end: -1 };
  lastOf.clear();
  state.lines += forEachLine(lines, (start, end) => foldLine(state, bytes, start, end));
  for (const [type, { start, end }] of lastOf) readMetadata(state, type, bytes, start, end);
  if (state.openSummaries.length > 0) settleSummaries(state, bytes.subarray(lines.start, lines.end));
  if (untimed.start < 0) return;
  const time = findTimestamp(bytes, untimed.start, untimed.end);
  if (time !== undefined) noteTime(state, time);
}

function foldLine(state: SessionDetails, bytes: Buffer, lineStart: number, end: number): void {
  // An editor may have written a byte order mark before the first line.
  const isMarked = bytes[lineStart] === 0xef && bytes[lineStart + 1] === 0xbb && bytes[lineStart + 2] === 0xbf;
  const start = isMarked ? lineStart + 3 : lineStart;
  if (end - start < 2 || !isWhole(bytes, end) || !peekLine(bytes, start, end, peek)) return;
  if (isType(bytes, "user")) foldUser(state, bytes, start, end);
  else if (isType(bytes, "assistant")) foldAssistant(state, bytes, start, end);
  else foldOther(state, bytes, start, end);
}

/** Whether a line ends with a brace. A line that was cut does not. */
function isWhole(bytes: Buffer, end: number): boolean {
  let last = end - 1;
  while (bytes[last] === 0x20 || bytes[last] === 0x09) last -= 1;
  return bytes[last] === 0x7d;
}

function isType(bytes: Buffer, name: string): boolean {
  if (peek.typeEnd - peek.typeStart !== name.length) return false;
  for (let i = 0; i < name.length; i += 1) if (bytes[peek.typeStart + i] !== name.charCodeAt(i)) return false;
  return true;
}

function foldUser(state: SessionDetails, bytes: Buffer, start: number, end: number): void {
  foldEnvelope(state, bytes, start, end);
  if (peek.isSidechain && state.firstPrompt !== null) return;
  if (!peek.isSidechain) state.messageCount += 1;
  if (state.firstPrompt !== null) return;
  const line = parse(bytes, start, end);
  // In a subagent's file every line is a side chain. The first user line is the subagent's task.
  const prompt =
    line && (humanPrompt(line) ?? humanPrompt({ ...line, isSidechain: peek.isSidechain && state.messageCount > 0 }));
  if (prompt !== undefined) state.firstPrompt = oneLine(prompt);
}

const idKey = keys("id");
const idFound = newFound(idKey);

function foldAssistant(state: SessionDetails, bytes: Buffer, start: number, end: number): void {
  const { isSidechain, nestedAt } = peek;
  foldEnvelope(state, bytes, start, end);
  if (isSidechain) return;
  const isMessage = peek.nestedKeyEnd - peek.nestedKeyStart === 7 && bytes[peek.nestedKeyStart] === 0x6d;
  if (!isMessage) {
    state.messageCount += 1;
    return;
  }
  findKeys(bytes, nestedAt, bytes.length, idKey, idFound);
  const [idStart = -1, idEnd = -1] = idFound;
  if (idStart < 0 || bytes[idStart] !== 0x22) {
    state.messageCount += 1;
    return;
  }
  let hash = 0x811c9dc5;
  for (let i = idStart + 1; i < idEnd - 1; i += 1) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash >>>= 0;
  if (state.answerIds.has(hash)) return;
  state.answerIds.add(hash);
  state.messageCount += 1;
}

function foldEnvelope(state: SessionDetails, bytes: Buffer, start: number, end: number): void {
  const { timestampStart, timestampEnd, cwdStart, cwdEnd } = peek;
  if (timestampStart >= 0) {
    if (state.firstTime === null || compare(bytes, timestampStart, timestampEnd, state.firstTime) < 0) {
      state.firstTime = latin1(bytes, timestampStart, timestampEnd);
    }
    if (state.lastTime === null || compare(bytes, timestampStart, timestampEnd, state.lastTime) > 0) {
      state.lastTime = latin1(bytes, timestampStart, timestampEnd);
    }
    untimed.start = -1;
  } else {
    untimed.start = start;
    untimed.end = end;
  }
  if (cwdStart >= 0) noteCwd(state, bytes, cwdStart, cwdEnd);
  // The version and the branch come from the first line that has one of them.
  if (state.version === "" && state.gitBranch === null) {
    if (peek.versionStart >= 0) state.version = latin1(bytes, peek.versionStart, peek.versionEnd);
    if (peek.branchStart >= 0) state.gitBranch = text(bytes, peek.branchStart, peek.branchEnd) || null;
  }
  if (state.sessionId === null) {
    const line = parse(bytes, start, end) ?? {};
    if (typeof line["sessionId"] === "string") state.sessionId = line["sessionId"];
  }
}

function noteTime(state: SessionDetails, time: string): void {
  if (state.firstTime === null || time < state.firstTime) state.firstTime = time;
  if (state.lastTime === null || time > state.lastTime) state.lastTime = time;
}

let lastCwd = "";

function noteCwd(state: SessionDetails, bytes: Buffer, start: number, end: number): void {
  const isLast = state.cwds.length > 0 && end - start === lastCwd.length && compare(bytes, start, end, lastCwd) === 0;
  if (isLast && state.cwds.includes(lastCwd)) return;
  const cwd = text(bytes, start, end);
  // The fast comparison above works on bytes, so it only finds ASCII paths without escapes.
  lastCwd = cwd;
  if (!state.cwds.includes(cwd) && state.cwds.length < 1000) state.cwds.push(cwd);
}

function foldOther(state: SessionDetails, bytes: Buffer, start: number, end: number): void {
  const type = latin1(bytes, peek.typeStart, peek.typeEnd);
  if (type === "attachment" || type === "system" || type === "progress") {
    foldEnvelope(state, bytes, start, end);
    if (type !== "attachment" || state.firstPrompt !== null) return;
  }
  if (type === "file-history-snapshot" || type === "queue-operation") {
    if (state.firstTime === null) state.otherTime ??= timeOfOther(bytes, start, end);
    return;
  }
  // These lines are repeated again and again. Only the last line counts, so only the last line is parsed.
  if (type === "ai-title" || type === "last-prompt") lastOf.set(type, { start, end });
  else readMetadata(state, type, bytes, start, end);
}

function timeOfOther(bytes: Buffer, start: number, end: number): string | null {
  const line = parse(bytes, start, end) ?? {};
  const snapshot = line["snapshot"] as { readonly timestamp?: unknown } | null | undefined;
  const time = line["timestamp"] ?? snapshot?.timestamp;
  return typeof time === "string" ? time : null;
}

const lastOf = new Map<string, { readonly start: number; readonly end: number }>();

// oxlint-disable-next-line max-params
function readMetadata(state: SessionDetails, type: string, bytes: Buffer, start: number, end: number): void {
  const read = metadata[type];
  const line = read && parse(bytes, start, end);
  if (line) read(state, line);
}

type ReadMetadata = (state: SessionDetails, line: Readonly<Record<string, unknown>>) => void;

const metadata: Readonly<Record<string, ReadMetadata | undefined>> = {
  "custom-title": (state, { customTitle }) => {
    if (typeof customTitle === "string") state.customTitle = customTitle || null;
  },
  "ai-title": (state, { aiTitle }) => {
    if (typeof aiTitle === "string" && aiTitle !== "") state.aiTitle = aiTitle;
  },
  "last-prompt": (state, { lastPrompt }) => {
    if (typeof lastPrompt === "string" && lastPrompt !== "") state.lastPrompt = lastPrompt;
  },
  summary: (state, line) => noteSummary(state, line),
  relocated: (state, { relocatedCwd }) => {
    if (typeof relocatedCwd === "string") state.relocatedCwd = relocatedCwd;
  },
  "worktree-state": (state, { worktreeSession }) => {
    const original = (worktreeSession as { originalCwd?: unknown } | null | undefined)?.originalCwd;
    state.worktreeOriginalCwd = typeof original === "string" ? original : null;
  },
  attachment: (state, line) => {
    const prompt = humanPrompt(line);
    if (prompt !== undefined) state.firstPrompt = oneLine(prompt);
  },
};
