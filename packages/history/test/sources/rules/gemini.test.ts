/** Tests the rules for reading Gemini CLI's chats. */
import { createHash } from "node:crypto";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callsIn, folderWith, othersIn, readAll, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const ID = "1a2b3c4d-0000-4000-8000-00000000000f";
const PLACE = "tmp/demo/chats/session-2026-08-10T09-00-1a2b3c4d.jsonl";
const header = (more: object = {}): object => ({
  sessionId: ID,
  projectHash: "h",
  startTime: "2026-08-10T09:00:00.000Z",
  ...more,
});
const user = (id: string, content: string): object => ({
  id,
  timestamp: "2026-08-10T09:00:01.000Z",
  type: "user",
  content,
});
const answer = (id: string, content: string, more: object = {}): object => ({
  id,
  timestamp: "2026-08-10T09:00:02.000Z",
  type: "gemini",
  content,
  model: "gemini-3-pro",
  ...more,
});
const tokens = (input: number): object => ({ input, output: 1, cached: 0, thoughts: 0, tool: 0, total: input + 1 });
const done = (output: string): object => ({ functionResponse: { response: { output } } });
const read = (...records: readonly object[]) => readOne("gemini", { [PLACE]: [header(), ...records] });

test("Gemini CLI: tokens of rewound messages count, and a rewind to an unknown message rewinds all messages", () => {
  const before = [
    user("u1", "first"),
    answer("a1", "one", { tokens: tokens(5) }),
    user("u2", "second"),
    answer("a2", "two", { tokens: tokens(6) }),
  ];
  const rewound = read(...before, { $rewindTo: "u2" }, user("u3", "third"));
  expect(threadOf(rewound)).toEqual(["first", "one", "third"]);
  expect(threadOf(read(...before, { $rewindTo: "nowhere" }, user("u3", "third")))).toEqual(["third"]);
  expect(callsIn("gemini", [rewound]).map(({ input }) => input)).toEqual([5, 6]);
});

test("Gemini CLI: a patch of the model's context removes no message, and adds its new messages", () => {
  const call = { id: "c1", name: "shell", args: {}, status: "success" };
  const masked = { id: "c2", name: "read", args: {}, status: "success", result: [done("long text")] };
  const records = [user("u1", "first"), answer("a1", "one", { toolCalls: [call, masked] })];
  const results = [
    { id: "c1", result: [done("late")] },
    { id: "c2", result: null },
  ];
  const late = answer("a2", "two", { tokens: tokens(7) });
  const session = read(
    ...records,
    { $patch: { id: "a1", content: "masked", toolCalls: results } },
    { $patch: { updates: [late], removeIds: ["u1"], orderIds: ["a1", "a2"] } },
    user("u2", "second"),
  );
  expect(threadOf(session)).toEqual(["first", "one | shell | read", "late", "long text", "two", "second"]);
  expect(callsIn("gemini", [session]).map(({ input }) => input)).toEqual([7]);
  expect(othersIn(session)).toEqual([]);
});

test("Gemini CLI: the title is the summary in the header, or a summary that was set later", () => {
  expect(titleOf(readOne("gemini", { [PLACE]: [header({ summary: "Early" }), user("u", "q")] }))).toBe("Early");
  expect(titleOf(read(user("u", "q"), { $set: { summary: "Late" } }))).toBe("Late");
});

test("Gemini CLI: a text that the program added is not a prompt, and a cancelled tool call counts as failed", () => {
  const toolCalls = [
    {
      id: "c1",
      name: "shell",
      args: {},
      status: "cancelled",
      result: [{ functionResponse: { response: { error: "stopped" } } }],
    },
  ];
  const session = read(
    user("u1", "<session_context>here</session_context>"),
    user("u2", "q"),
    answer("a1", "", { toolCalls }),
  );
  expect(threadOf(session)).toEqual(["meta: <session_context>here</session_context>", "q", "shell", "failed: stopped"]);
});

test("Gemini CLI: the project path comes from its file, from the list of projects, or from the chat", () => {
  const cwdOf = (files: Record<string, string | object>): unknown =>
    readOne("gemini", files).lines.find(({ type }) => type === "user")?.["cwd"];
  const chat = [header(), user("u", "q")];
  const hash = createHash("sha256").update("/srv/hashed").digest("hex");
  expect(
    cwdOf({
      [PLACE]: chat,
      "tmp/demo/.project_root": "/srv/file\n",
      "projects.json": { projects: { "/srv/list": "demo" } },
    }),
  ).toBe("/srv/file");
  expect(cwdOf({ [PLACE]: chat, "projects.json": { projects: { "/srv/list": "demo" } } })).toBe("/srv/list");
  expect(cwdOf({ [PLACE.replace("demo", hash)]: chat, "projects.json": { projects: { "/srv/hashed": "x" } } })).toBe(
    "/srv/hashed",
  );
  expect(cwdOf({ [PLACE]: [header({ directories: ["/srv/own"] }), user("u", "q")] })).toBe("/srv/own");
});

test("Gemini CLI: a file of lines replaces a document with the same name, and the newer file of a session is read", () => {
  const document = { ...header(), messages: [user("u", "document")] };
  const both = folderWith({ [PLACE]: [header(), user("u", "lines")], [PLACE.replace(".jsonl", ".json")]: document });
  expect(readAll("gemini", both).map(threadOf)).toEqual([["lines"]]);
  const later = PLACE.replace("09-00", "10-00");
  const twice = folderWith({ [PLACE]: [header(), user("u", "older")], [later]: [header(), user("u", "newer")] });
  utimesSync(join(twice, PLACE), 1, 1);
  expect(readAll("gemini", twice).map(threadOf)).toEqual([["newer"]]);
});

test("Gemini CLI: a chat in the folder of another chat is its subagent", () => {
  const folder = folderWith({
    [PLACE]: [header(), user("u", "q")],
    [`tmp/demo/chats/${ID}/sub.jsonl`]: [header({ sessionId: "sub" }), user("u", "q")],
  });
  expect(readAll("gemini", folder).map(({ id, parentId }) => [id, parentId])).toEqual([
    [ID, undefined],
    ["sub", ID],
  ]);
  expect(unitsIn("gemini", folder)).toHaveLength(2);
});
