import type { Facet } from "../../../facets/facet.ts";
import { arrayOf, objectOf, stringOf } from "../../../model/value.ts";
import { forEachLine } from "../../../scan/line-splitter.ts";
import { valueAfterKey } from "../../../scan/json-scan.ts";
import { parseLine } from "../../../scan/parse-line.ts";

/** The tool calls of one file, by their ids. Resumes and forks write a call again under the same id. */
export interface FileToolCalls {
  readonly calls: Map<string, { readonly name: string; readonly time: number }>;
  /** The ids of calls with a failed result. */
  readonly failed: Set<string>;
  /** The first working directory. */
  cwd: string | null;
}

const call = Buffer.from('"tool_use"');
const failure = Buffer.from('"is_error"');
const place = Buffer.from('"cwd"');

/**
 * Collects the tool calls of a file. Only lines with a call, a failed result or the first working directory are parsed.
 */
export const toolCallsFacet: Facet<FileToolCalls> = {
  name: "tool-calls",
  version: 2,
  start: () => ({ calls: new Map(), failed: new Set(), cwd: null }),
  fold(state, region) {
    forEachLine(region, (start, end) => {
      const line = region.bytes.subarray(start, end);
      const isWanted = line.includes(call) || hasFailure(line) || (state.cwd === null && line.includes(place));
      if (!isWanted) return;
      for (const { value } of parseLine(line, { line: 1, offset: start }, () => {})) noteLine(state, value);
    });
  },
  encode: ({ calls, failed, cwd }) =>
    Buffer.from(
      JSON.stringify({ cwd, failed: [...failed], calls: [...calls].map(([id, { name, time }]) => [id, name, time]) }),
    ),
  decode(data) {
    const saved = JSON.parse(Buffer.from(data).toString("utf8")) as {
      readonly cwd: string | null;
      readonly failed: readonly string[];
      readonly calls: readonly (readonly [id: string, name: string, time: number])[];
    };
    return {
      cwd: saved.cwd,
      failed: new Set(saved.failed),
      calls: new Map(saved.calls.map(([id, name, time]) => [id, { name, time }])),
    };
  },
};

/** Whether a line may have a failed result. Most results have `"is_error":false`, and are not parsed. */
function hasFailure(line: Buffer): boolean {
  for (let at = line.indexOf(failure); at >= 0; at = line.indexOf(failure, at + 1))
    if (line[valueAfterKey(line, at, failure.length)] === 0x74) return true;
  return false;
}

function noteLine(state: FileToolCalls, value: Readonly<Record<string, unknown>>): void {
  state.cwd ??= stringOf(value["cwd"]);
  const time = Date.parse(stringOf(value["timestamp"]) ?? "") || 0;
  for (const part of arrayOf(objectOf(value["message"])["content"])) {
    const block = objectOf(part);
    const id = stringOf(block["id"]);
    const name = stringOf(block["name"]);
    if (block["type"] === "tool_use" && id !== null && name !== null) state.calls.set(id, { name, time });
    const result = stringOf(block["tool_use_id"]);
    if (block["type"] === "tool_result" && block["is_error"] === true && result !== null) state.failed.add(result);
  }
}
