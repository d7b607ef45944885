/** Tests the rules for reading Cursor's transcripts and chats. */
import { expect, test } from "vitest";
import { cursor } from "../../../src/sources/cursor/cursor.ts";
import { callsIn, folderWith, readAll, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const ID = "d0000000-0000-4000-8000-00000000000f";
const FOLDER = "projects/srv-demo/agent-transcripts";
const PLACE = `${FOLDER}/${ID}/${ID}.jsonl`;
const prompt = (time: string): object => ({
  role: "user",
  message: { content: `<timestamp>${time}</timestamp><user_query>q</user_query>` },
});
const says = (text: string): object => ({ role: "assistant", message: { content: text } });

test.each([
  ["Sunday, Aug 2, 2026, 3:51 AM (UTC-7)", "2026-08-02T10:51:00.000Z"],
  ["Sunday, Aug 2, 2026, 3:51 PM (UTC)", "2026-08-02T15:51:00.000Z"],
  ["Sunday, Aug 2, 2026, 12:05 AM (UTC+2)", "2026-08-01T22:05:00.000Z"],
  ["Sunday, Aug 2, 2026, 12:05 PM (UTC+5:30)", "2026-08-02T06:35:00.000Z"],
])("Cursor: a prompt with the time %s has the timestamp %s", (time, expected) => {
  const { lines } = readOne("cursor", { [PLACE]: [prompt(time)] });
  expect(lines[0]).toMatchObject({ timestamp: expected, message: { content: "q" } });
});

test("Cursor: if a transcript has no times, its first line gets the time of the file, and later lines get no time", () => {
  const { lines } = readOne("cursor", { [PLACE]: [{ role: "user", message: { content: "q" } }, says("a")] });
  expect(lines.map(({ timestamp }) => typeof timestamp)).toEqual(["string", "undefined"]);
});

test("Cursor: a session's folder replaces its file of lines, and a file of lines replaces a text file", () => {
  const text = { [`${FOLDER}/${ID}.txt`]: "user:\ntext\n" };
  const flat = { [`${FOLDER}/${ID}.jsonl`]: [{ role: "user", message: { content: "flat" } }] };
  const own = { [PLACE]: [{ role: "user", message: { content: "own" } }] };
  const read = (files: object): readonly (readonly string[])[] =>
    readAll("cursor", folderWith({ ...files })).map(threadOf);
  expect(read(text)).toEqual([["text"]]);
  expect(read({ ...text, ...flat })).toEqual([["flat"]]);
  expect(read({ ...text, ...flat, ...own })).toEqual([["own"]]);
});

test("Cursor: results in a text transcript belong to the tool calls in their order, and text before the first mark is damage", () => {
  const text =
    "half a line\nuser:\nq\nassistant:\n[Tool call] A\n  x: 1\n[Tool call] B\n[Tool result] A\n  one\n[Tool result] B\n  two\ndone\n";
  const session = readOne("cursor", { [`${FOLDER}/${ID}.txt`]: text });
  expect(session.damage).toEqual(["half a line"]);
  expect(threadOf(session)).toEqual(["q", "A | B", "one", "two", "done"]);
  const blocks = session.lines.flatMap(({ message }) => {
    const { content } = message as { content: unknown };
    return Array.isArray(content)
      ? (content as { id?: string; tool_use_id?: string; name?: string; content?: string }[])
      : [];
  });
  const call = new Map(blocks.map(({ id, name }) => [id, name]));
  expect(
    blocks.filter((block) => block.tool_use_id).map((block) => [call.get(block.tool_use_id), block.content]),
  ).toEqual([
    ["A", "one"],
    ["B", "two"],
  ]);
});

const row = (key: string, value: object): string =>
  `INSERT INTO cursorDiskKV VALUES ('${key}', '${JSON.stringify(value).replaceAll("'", "''")}');`;
const TABLE = "CREATE TABLE cursorDiskKV (key TEXT, value BLOB);";

test("Cursor: an older chat contains its messages, failed tool calls are marked, and its token counts do not count", () => {
  const failed = { name: "run", toolCallId: "t1", status: "error", rawArgs: "{}", result: "not found" };
  const conversation = [
    { bubbleId: "b1", type: 1, text: "q" },
    { bubbleId: "b2", type: 2, text: "", toolFormerData: failed, tokenCount: { inputTokens: 9, outputTokens: 1 } },
  ];
  const folder = folderWith({
    "state.vscdb": [
      TABLE,
      row(`composerData:${ID}`, {
        name: "Named",
        createdAt: 1_785_931_200_000,
        conversation,
        blobEncryptionKey: "secret",
      }),
      row(`composerData:${ID}\npart`, { conversation }),
    ].join("\n"),
  });
  const root = `${folder}/state.vscdb`;
  const [chat, ...others] = readAll("cursor", root);
  if (!chat) throw new Error("no chat");
  expect(others).toEqual([]);
  expect(titleOf(chat)).toBe("Named");
  expect(threadOf(chat)).toEqual(["q", "run", "failed: not found"]);
  expect(callsIn("cursor", [chat])).toEqual([]);
  const [unit] = unitsIn("cursor", root);
  if (!unit) throw new Error("no unit");
  expect(cursor.original(unit, `composerData:${ID}`).text).toContain("Named");
  expect(cursor.original(unit, `composerData:${ID}`).text).not.toContain("secret");
  expect(cursor.original(unit, "cursorAuth/accessToken").text).toBeUndefined();
});
