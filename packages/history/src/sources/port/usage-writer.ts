/** Counts the model calls of a session without making its lines. The result is the one that its lines would give. */
import { createByteSearch, type ByteSearch } from "../../scan/byte-search.ts";
import { addCall, column, newCall } from "../../usage/usage-table.ts";
import { usageFacet, type FileUsage } from "../claude-code/usage/file-usage.ts";
import type { HistorySource, Unit } from "./source.ts";
import { timeOf, whole, type CallTokens, type Placed, type TranscriptWriter } from "./transcript-writer.ts";

const call = newCall();

/** `cwd` is the folder of the session's head. */
export function readUsage(source: HistorySource, unit: Unit, cwd: string | null): FileUsage {
  const usage = usageFacet.start();
  let isSubagent = false;
  let copied: string[] = [];
  let copiedLength = 0;
  const add = (id: string, model: string, tokens: CallTokens, { at, isSide }: { at: Placed["at"]; isSide: boolean }) => {
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
    numbers[column.flags] = isSide ? 2 : 0;
    numbers[column.time] = Date.parse(timeOf(at) ?? "") || 0;
    addCall(usage.table, call);
  };
  const foldCopied = (): void => {
    if (copied.length > 0) fold(usage, copied.join(""));
    copied = [];
    copiedLength = 0;
  };
  const writer: TranscriptWriter = {
    wants: "usage",
    place() {},
    subagentOf: () => void (isSubagent = true),
    title() {},
    user: () => "",
    answer({ call: id, model, tokens, at, side }) {
      if (tokens) add(id, model, tokens, { at, isSide: isSubagent || side !== undefined });
      return "";
    },
    result: () => "",
    usage: (id, model, tokens, { at }) => add(id, model, tokens, { at, isSide: true }),
    compaction() {},
    other() {},
    damage() {},
    copy(line) {
      copied.push(line, "\n");
      copiedLength += line.length;
      if (copiedLength > 256 * 1024) foldCopied();
    },
    last: null,
    uuidOf: () => "",
    head: { cwd, parent: undefined },
  };
  source.read(unit, writer);
  foldCopied();
  if (cwd !== null && usage.cwds.length === 0) usage.cwds.push(cwd);
  return usage;
}

let search: ByteSearch | undefined;

/** Lines of Claude Code's form are counted as in its own files. */
function fold(usage: FileUsage, lines: string): void {
  search ??= createByteSearch();
  const length = Buffer.byteLength(lines);
  const bytes = search.buffer().length < length ? search.grow(length) : search.buffer();
  bytes.write(lines);
  usageFacet.fold(usage, { bytes, start: 0, end: length, offset: 0, tooLong: false, unterminated: false }, search);
}
