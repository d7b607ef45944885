import { describe, expect, test } from "vitest";
import { createByteSearch } from "../src/scan/byte-search.ts";
import { readAnyAnswer } from "../src/sources/claude-code/usage/any-answer.ts";
import { readPlainAnswer } from "../src/sources/claude-code/usage/plain-answer.ts";
import { addCall, newCall, newTable, type UsageTable } from "../src/usage/usage-table.ts";

const usage = '{"input_tokens":4,"cache_creation_input_tokens":17433,"cache_read_input_tokens":12,"output_tokens":5}';
const message = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"a \\" b"}],"usage":${usage}}`;
const tail = '"requestId":"req_1","type":"assistant","uuid":"u1","timestamp":"2026-01-02T03:04:05.678Z"';
const line = `{"parentUuid":null,"isSidechain":false,"cwd":"/a","message":${message},${tail}}`;
const long = `{"input_tokens":123456789,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":7,"cache_read_input_tokens":1,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":0},"service_tier":"standard","iterations":[{"input_tokens":99,"type":"message"}],"output_tokens_details":{"output_tokens":98},"speed":"fast"}`;

/** Lines of the usual form, which both readers must read with equal results. */
const plain: readonly (readonly [name: string, line: string])[] = [
  ["the usual form", line],
  ["every counter, and breakdowns that repeat the counters", line.replace(usage, long)],
  ["an empty usage", line.replace(usage, "{}")],
  ["a side chain", line.replace('"isSidechain":false', '"isSidechain":true')],
  ["a side chain that is marked after the message", line.replace('"uuid":"u1"', '"isSidechain":true,"uuid":"u1"')],
  ["type and time before the message", `{${tail},"message":${message}}`],
  ["no request and no time", `{"message":${message},"type":"assistant"}`],
  ["more keys after the usage", line.replace(`${usage}}`, `${usage},"stop_details":{"a":["}"]},"b":null}`)],
  ["a list before the message", line.replace('"cwd":"/a"', '"data":[1]')],
  ["another order in the message", line.replace('"id":"msg_1","type":"message"', '"type":"message","id":"msg_1"')],
  ["a synthetic answer, which does not count", line.replace("claude-opus-4-6", "<synthetic>")],
];

/** Lines of other forms, which `readPlainAnswer` must reject. */
const others: readonly (readonly [name: string, line: string])[] = [
  ["spaces between the values", line.replace('"cwd":"/a"', '"cwd": "/a"')],
  ["a counter that is not a whole number", line.replace('"output_tokens":5', '"output_tokens":5.5')],
  ["a counter of null", line.replace('"output_tokens":5', '"output_tokens":null')],
  ["a usage inside the content", line.replace(`,"usage":${usage}`, "").replace('"a \\" b"}', `"a","usage":${usage}}`)],
  [
    "a usage after the message",
    line.replace(`,"usage":${usage}`, "").replace(tail, `"result":{"usage":${usage}},${tail}`),
  ],
  ["a line of the user", line.replace('"type":"assistant","uuid"', '"type":"user","uuid"')],
  ["a key that only looks like usage", line.replace('"usage"', '"Usage"')],
  ["an empty id", line.replace("msg_1", "")],
  ["a nested value before the message", line.replace('"cwd":"/a"', '"data":{"a":1}')],
  ["a line that is cut in its message", line.slice(0, -tail.length)],
  ["an unfinished usage", line.slice(0, line.indexOf('"output_tokens"'))],
];

describe("answers in their usual form", () => {
  test.each(plain)("readPlainAnswer and readAnyAnswer give equal results for %s", (_, text) => {
    const { isRead, table } = readPlain(text);
    expect(isRead).toBe(true);
    expect(contentOf(table)).toEqual(contentOf(readAny(text)));
  });

  test.each(others)("readPlainAnswer rejects %s, so that readAnyAnswer reads it", (_, text) => {
    const { isRead, table } = readPlain(text);
    expect(isRead).toBe(false);
    expect(table.ids).toEqual([]);
  });

  test("a second line of an answer raises its counters, even after the memory has grown", () => {
    const search = createByteSearch();
    const table = newTable();
    read(table, search, line);
    search.grow(4 * 1024 * 1024);
    read(table, search, line.replace('"output_tokens":5', '"output_tokens":50'));
    expect(table.ids).toEqual(["msg_1"]);
    expect([...table.numbers].slice(0, 2)).toEqual([4, 50]);
  });
});

function read(table: UsageTable, search: ReturnType<typeof createByteSearch>, text: string): boolean {
  // As in a file, lines come before and after the text.
  const before = `${line}\n`;
  const all = Buffer.from(`${before}${text}\n${line}\n`);
  all.copy(search.buffer());
  const start = Buffer.byteLength(before);
  const end = start + Buffer.byteLength(text);
  const hit = search.find(search.needle(Buffer.from('"usage":')), start, end);
  return readPlainAnswer(table, search, { start, end, hit });
}

function readPlain(text: string): { readonly isRead: boolean; readonly table: UsageTable } {
  const table = newTable();
  return { isRead: read(table, createByteSearch(), text), table };
}

function readAny(text: string): UsageTable {
  const table = newTable();
  const bytes = Buffer.from(text);
  readAnyAnswer(bytes, 0, bytes.length, newCall(), (call) => addCall(table, call));
  return table;
}

function contentOf({ ids, requestIds, models, numbers }: UsageTable) {
  return { ids, requestIds, models, numbers: [...numbers] };
}
