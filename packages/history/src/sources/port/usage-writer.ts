/** Counts the model calls of a session without translating it. Reading the translated lines gives the same result. */
import { createByteSearch, type ByteSearch } from "../../scan/byte-search.ts";
import { addCall, column, newCall } from "../../usage/usage-table.ts";
import { usageFacet, type FileUsage } from "../claude-code/usage/file-usage.ts";
import { folderPath } from "./folder-path.ts";
import { SUM, type TranslatedSource, type Unit } from "./source.ts";
import { millisecondsOf, whole, type CallTokens, type Placed, type TranscriptWriter } from "./transcript-writer.ts";

const call = newCall();

/**
 * Returns the model calls of a session, and the working directory of its first line. `sessionId` is the id of the
 * parent, or empty.
 */
export function readUsage(source: TranslatedSource, unit: Unit): FileUsage {
  const usage = usageFacet.start();
  let cwd = unit.head?.cwd ? folderPath(unit.head.cwd) : null;
  let isFirstLine = unit.head === undefined;
  let parent = unit.head?.parentId ?? null;
  let copied: string[] = [];
  let copiedLength = 0;
  const line = (): string => {
    isFirstLine = false;
    return "";
  };
  const add = (
    id: string,
    model: string,
    tokens: CallTokens,
    { at, isSide }: { at: Placed["at"]; isSide: boolean },
  ) => {
    const { numbers } = call;
    numbers.fill(0);
    call.id = id;
    call.model = model || "unknown";
    const { cacheWrite1h = 0 } = tokens;
    numbers[column.output] = whole(tokens.output);
    if (tokens.input !== null) {
      numbers[column.input] = whole(tokens.input);
      numbers[column.cacheWrite] = whole(tokens.cacheWrite ?? 0);
      numbers[column.cacheRead] = whole(tokens.cacheRead ?? 0);
    }
    if (cacheWrite1h > 0) {
      numbers[column.cacheWrite5m] = whole((tokens.cacheWrite ?? 0) - cacheWrite1h);
      numbers[column.cacheWrite1h] = whole(cacheWrite1h);
    }
    numbers[column.flags] = (isSide ? 2 : 0) | (id.startsWith(SUM) ? 4 : 0);
    numbers[column.time] = millisecondsOf(at);
    addCall(usage.table, call);
  };
  const foldCopied = (): void => {
    if (copied.length > 0) fold(usage, copied.join(""));
    copied = [];
    copiedLength = 0;
  };
  const writer: TranscriptWriter = {
    wants: "usage",
    place(at) {
      if (isFirstLine && at.cwd) cwd = folderPath(at.cwd);
    },
    subagentOf: ({ sessionId }) => void (parent = sessionId),
    title() {},
    user: line,
    answer({ call: id, model, tokens, at, side }) {
      if (tokens) add(id, model, tokens, { at, isSide: parent !== null || side !== undefined });
      return line();
    },
    result: line,
    usage(id, model, tokens, { at }) {
      line();
      add(id, model, tokens, { at, isSide: true });
    },
    compaction: line,
    other() {},
    damage() {},
    copy(text) {
      copied.push(text, "\n");
      copiedLength += text.length;
      if (copiedLength > 256 * 1024) foldCopied();
    },
    last: null,
    uuidOf: () => "",
    head: { cwd: null, parent: undefined },
  };
  source.read(unit, writer);
  foldCopied();
  if (cwd !== null) usage.cwds.splice(0, usage.cwds.length, cwd);
  usage.sessionId = parent ?? "";
  return usage;
}

let search: ByteSearch | undefined;

/** Counts the model calls in lines of Claude Code's format. */
function fold(usage: FileUsage, lines: string): void {
  search ??= createByteSearch();
  const length = Buffer.byteLength(lines);
  const bytes = search.buffer().length < length ? search.grow(length) : search.buffer();
  bytes.write(lines);
  usageFacet.fold(usage, { bytes, start: 0, end: length, offset: 0, tooLong: false, unterminated: false }, search);
}
