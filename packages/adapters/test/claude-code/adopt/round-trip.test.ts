/**
 * Sessions of Claude Code in generated data directories are adopted (copied into Skein's store), and exported again
 * byte for byte.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { type Store, createMemoryStore, createSessions, foldAll, transcriptAppended } from "@skein/core";
import { getSession, getUsage } from "@skein/history";
import { writeCorpus } from "@skein/history/testing";
import { Event, type Fact, type JsonObject, blocksOf, isToolUse } from "@skein/protocol";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../../../scripts/postgres.ts";
import {
  adopt,
  claudeFiles,
  writeClaudeFiles,
  readClaudeSession,
} from "../../../src/runtimes/claude-code/adopt/index.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "skein-adopt-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function filesIn(root: string): ReadonlyMap<string, string> {
  const paths = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    paths.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(root.length + 1), readFileSync(path, "utf8")];
    }),
  );
}

async function adopted(dataPath: string, session: string | number, store: Store = createMemoryStore()) {
  const claude = readClaudeSession(await getSession(session, { dataPath, cacheFolder: null }));
  const row = await adopt(claude, { store, tenant: "default" });
  const events = await store.read(row.id);
  return { store, claude, row, events, state: foldAll(row.id, events), sessions: createSessions({ store }) };
}

const ID = "0a0a0a0a-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

interface Line extends JsonObject {
  readonly n: number;
}

/** A data directory with one session. By default the parent of each line is the previous line. */
function dataWith(lines: readonly (Line | string)[], id = ID): string {
  const root = folder();
  const path = join(root, "projects", "-work-app", `${id}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  const texts = lines.map((line) => {
    if (typeof line === "string") return line;
    const { n, ...fields } = line;
    const time = new Date(Date.UTC(2026, 9, 1, 10, 0, n)).toISOString();
    const shared = { sessionId: id, cwd: "/work/app", version: "2.1.325", timestamp: time, isSidechain: false };
    return JSON.stringify({ parentUuid: n === 1 ? null : uuid(n - 1), ...shared, uuid: uuid(n), ...fields });
  });
  writeFileSync(path, texts.map((text) => `${text}\n`).join(""));
  return root;
}

const typed = (n: number, content: unknown, more: JsonObject = {}): Line => ({
  n,
  type: "user",
  message: { role: "user", content },
  ...more,
});
const spoke = (n: number, id: string, block: JsonObject, more: JsonObject = {}): Line => ({
  n,
  type: "assistant",
  message: {
    id,
    model: "claude-sonnet-4-5",
    role: "assistant",
    content: [block],
    stop_reason: block["type"] === "tool_use" ? "tool_use" : "end_turn",
    usage: { input_tokens: 1000, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  },
  ...more,
});
const priced = (model: string): JsonObject => ({
  id: "m1",
  model,
  role: "assistant",
  content: [{ type: "text", text: "hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1000, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});
const text = (words: string): JsonObject => ({ type: "text", text: words });
const call = (id: string): JsonObject => ({ type: "tool_use", id, name: "Read", input: { file_path: "/work/app/a" } });
const result = (n: number, id: string, content: unknown = "done", more: JsonObject = {}): Line =>
  typed(n, [{ type: "tool_result", tool_use_id: id, content, ...more }]);

const types = (events: readonly Event[]): string[] => events.map(({ event_type }) => event_type);

describe("a generated data directory", { timeout: 120_000 }, () => {
  test("every adopted session is exported unchanged, has the same cost as in the history, and has a result for every call", async () => {
    const root = folder();
    const { sessions } = writeCorpus({ folder: root, files: 24, bytes: 3_000_000, seed: 7, subagentEvery: 3 });
    const before = filesIn(root);
    const back = new Map<string, string>();
    const costs = new Map<string, number>();
    for (const id of sessions) {
      const { events, row, state } = await adopted(root, id);
      for (const { path, content } of claudeFiles(id, events)) back.set(path, content);
      costs.set(id, row.cost_micros);
      expect(row).toMatchObject({ status: "idle", id });
      expect(state.run).toBeNull();
      for (const event of events) expect(Event.safeParse(event).error).toBeUndefined();
      state.transcript.forEach(({ content }, place) => {
        const asked = blocksOf(content).filter(isToolUse);
        const next = blocksOf(state.transcript[place + 1]?.content ?? []);
        expect(next.filter(({ type }) => type === "tool_result").map((block) => block["tool_use_id"])).toEqual(
          expect.arrayContaining(asked.map((block) => block.id)),
        );
      });
    }
    expect([...back.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    for (const [path, content] of before) expect(back.get(path) === content, path).toBe(true);
    const usage = await getUsage({ dataPath: root, cacheFolder: null });
    for (const { sessionId, costMicros } of usage.bySession) expect(costs.get(sessionId), sessionId).toBe(costMicros);
    expect(filesIn(root)).toEqual(before);
  });
});

describe("lines that JSON.stringify would write differently", () => {
  const ODD = [
    `{ "type": "mode", "mode": "normal" }`,
    ``,
    `{"type":"tag","tag":"x","big":12345678901234567890}`,
    `{"type":"mode","mode":"a"}\r`,
    `["no","object"]`,
    `{"type":"mode","twice":1,"twice":2}`,
    `{"type":"mode","b":1,"10":2,"__proto__":{"x":1}}`,
    `{"type":"mode","text":"\\u0000 \\uD800 \\u00e9 \\/ ü 日本"}`,
    `{"type":"user","message":{"role":"us`,
  ];

  const STORES: readonly (readonly [string, (place: string) => Promise<Store>])[] = [
    ["memory", async () => createMemoryStore()],
    ["sqlite", async (place) => createSqliteStore({ file: join(place, "skein.db") })],
    ["files", async (place) => createFilesystemStore({ folder: join(place, "store") })],
    [
      "PostgreSQL",
      async () => {
        const server = inject("postgres");
        const database = await createDatabase(server.url, { template: server.template });
        onTestFinished(() => database.drop());
        return createPostgresStore({ url: database.url });
      },
    ],
  ];

  test.each(STORES)("lines that JSON would write differently come back byte for byte from %s", async (_, open) => {
    const root = dataWith([typed(1, "hello"), ...ODD.slice(0, -1), spoke(2, "m1", text("hi")), ...ODD.slice(-1)]);
    const store = await open(folder());
    onTestFinished(() => store.close());
    const { events, claude } = await adopted(root, 0, store);
    const [file] = claudeFiles(ID, events);
    expect(file?.content).toBe(readFileSync(join(root, file?.path ?? ""), "utf8"));
    expect(claude.lines.filter(({ entry }) => entry === null)).toHaveLength(3);
  });

  test("bytes that are not UTF-8 are rejected with an error that mentions UTF-8", async () => {
    const root = dataWith([typed(1, "hello")]);
    writeFileSync(join(root, "projects", "-work-app", `${ID}.jsonl`), Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), {
      flag: "a",
    });
    await expect(adopted(root, 0)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("UTF-8"),
    });
  });
});

describe("how the lines of a transcript become events", () => {
  test("a turn with two parallel calls is one run, with its steps, its calls and its answer", async () => {
    const root = dataWith([
      typed(1, "look at a and b"),
      spoke(2, "m1", { type: "thinking", thinking: "Two.", signature: "s" }),
      spoke(3, "m1", call("toolu_a")),
      result(4, "toolu_a"),
      spoke(5, "m1", call("toolu_b"), { parentUuid: uuid(3) }),
      result(6, "toolu_b", [text("b")], { is_error: true }),
      spoke(7, "m2", text("Both seen.")),
      { n: 8, type: "system", subtype: "turn_duration", durationMs: 5 },
    ]);
    const { events, state, row, sessions } = await adopted(root, 0);
    expect(types(events)).toEqual([
      "session.created",
      "transcript.appended",
      "prompt.accepted",
      "session.started",
      "message.created",
      "transcript.appended",
      "step.started",
      "step.generated",
      "message.created",
      "tool.started",
      "tool.started",
      "transcript.appended",
      "tool.completed",
      "transcript.appended",
      "tool.completed",
      "message.created",
      "transcript.appended",
      "step.started",
      "step.generated",
      "message.created",
      "transcript.appended",
      "runtime.noticed",
      "session.completed",
    ]);
    expect(state.transcript.map(({ id, role }) => [id, role])).toEqual([
      [uuid(1), "user"],
      [uuid(2), "assistant"],
      [uuid(4), "user"],
      [uuid(7), "assistant"],
    ]);
    expect(state.transcript[1]?.content).toEqual([
      { type: "thinking", thinking: "Two.", signature: "s" },
      call("toolu_a"),
      call("toolu_b"),
    ]);
    expect(row).toMatchObject({ title: "look at a and b", working_directory: "/work/app", total_runs: 1 });
    expect(row.usage).toMatchObject({ input_tokens: 2000, output_tokens: 200 });
    // Two calls, at $3 (input) and $15 (output) per million tokens.
    expect(row.cost_micros).toBe(2 * (3000 + 1500));
    const { items } = await sessions.messages(row.id);
    expect(items.map(({ role }) => role)).toEqual([
      "user",
      "tool_call",
      "tool_call",
      "tool_result",
      "tool_result",
      "assistant",
    ]);
  });

  test("a user line that nobody typed begins a run only if the model answers it", async () => {
    const root = dataWith([
      typed(1, "<local-command-stdout>nothing</local-command-stdout>"),
      typed(2, "start it"),
      spoke(3, "m1", text("started")),
      typed(4, "<task-notification><task-id>t</task-id></task-notification>"),
      spoke(5, "m2", text("it is done")),
    ]);
    const { state, row } = await adopted(root, 0);
    expect(state.transcript.map(({ id }) => id)).toEqual([2, 3, 4, 5].map(uuid));
    expect(row.total_runs).toBe(2);
  });

  test("answers that a rewind removed are not part of the conversation, but their cost counts", async () => {
    const root = dataWith([
      typed(1, "one"),
      spoke(2, "m1", text("first answer")),
      typed(3, "a wrong way"),
      spoke(4, "m2", text("lost")),
      typed(5, "the right way", { parentUuid: uuid(2) }),
      spoke(6, "m3", text("kept")),
    ]);
    const { state, row, events } = await adopted(root, 0);
    expect(state.transcript.map(({ id }) => id)).toEqual([1, 2, 5, 6].map(uuid));
    expect(types(events).filter((type) => type === "step.abandoned")).toHaveLength(1);
    expect(row.cost_micros).toBe(3 * 4500);
    expect(row.total_runs).toBe(2);
  });

  test("messages before a compaction are kept, and the summary of the compaction is not a message", async () => {
    const root = dataWith([
      typed(1, "one"),
      spoke(2, "m1", text("first answer")),
      { n: 3, type: "system", subtype: "compact_boundary", parentUuid: null, logicalParentUuid: uuid(2) },
      typed(4, "This session is being continued …", { isCompactSummary: true }),
      typed(5, "two"),
      spoke(6, "m2", text("second answer")),
    ]);
    const { state, events } = await adopted(root, 0);
    expect(state.transcript.map(({ id }) => id)).toEqual([1, 2, 5, 6].map(uuid));
    expect(events.find(({ event_type }) => event_type === "runtime.noticed")?.data).toMatchObject({
      subtype: "compact_boundary",
    });
  });

  test("an interrupted or unfinished turn is cancelled, and a turn with an API error fails", async () => {
    const root = dataWith([
      typed(1, "one"),
      spoke(2, "m1", text("I will")),
      typed(3, [text("[Request interrupted by user]")]),
      typed(4, "two"),
      spoke(5, "x", text("API Error: 529"), { isApiErrorMessage: true, apiErrorStatus: 529 }),
      typed(6, "three"),
      spoke(7, "m2", call("toolu_c")),
    ]);
    const { store, row, state } = await adopted(root, 0);
    const { items } = await store.runs(row.id);
    expect(items.toReversed().map(({ outcome }) => outcome)).toEqual(["cancelled", "failed", "cancelled"]);
    expect(state.transcript.at(-1)?.content).toMatchObject([
      { type: "tool_result", tool_use_id: "toolu_c", is_error: true },
    ]);
  });

  test("file copies that Claude Code made become checkpoints of the changed files", async () => {
    const snapshot = (messageId: string, files: Record<string, string | null>, isSnapshotUpdate = false): string =>
      JSON.stringify({
        type: "file-history-snapshot",
        messageId,
        isSnapshotUpdate,
        snapshot: {
          messageId,
          trackedFileBackups: Object.fromEntries(
            Object.entries(files).map(([path, backupFileName]) => [path, { backupFileName, version: 1 }]),
          ),
        },
      });
    const root = dataWith([
      snapshot(uuid(1), {}),
      typed(1, "make a"),
      snapshot(uuid(1), { "a.txt": null }, true),
      spoke(2, "m1", text("made")),
      snapshot(uuid(3), { "a.txt": "a@v1" }),
      typed(3, "now b"),
      snapshot(uuid(3), { "a.txt": "a@v1", "/tmp/b.txt": null }, true),
      spoke(4, "m2", text("made")),
      snapshot(uuid(5), { "a.txt": "a@v2", "/tmp/b.txt": "b@v1" }),
      typed(5, "thanks"),
      spoke(6, "m3", text("welcome")),
    ]);
    const { store, row } = await adopted(root, 0);
    const checkpoints = await store.checkpoints(row.id);
    expect(checkpoints.map((checkpoint) => [checkpoint.user_message_uuid, checkpoint.files_modified])).toEqual([
      [uuid(1), ["/work/app/a.txt"]],
      [uuid(3), ["/tmp/b.txt", "/work/app/a.txt"]],
      [uuid(5), []],
    ]);
  });
});

test("runs, messages and usage of an adopted session have the times of the transcript, not the time of the adoption", async () => {
  const at = (time: string): JsonObject => ({ timestamp: `2025-08-20T${time}.000Z` });
  const root = dataWith([
    typed(1, "hello", at("09:00:00")),
    spoke(2, "m1", text("hi"), at("09:00:05")),
    typed(3, "more", { timestamp: "2025-08-22T10:00:00.000Z" }),
    spoke(4, "m2", text("done"), { timestamp: "2025-08-22T10:00:07.000Z" }),
  ]);
  const { store, row, sessions } = await adopted(root, 0);
  const runs = await store.runs(row.id, { limit: 10 });
  // The newest run is first. A run ends with its last message, not with the next prompt two days later.
  expect(runs.items.map(({ started_at, completed_at }) => [started_at, completed_at])).toEqual([
    ["2025-08-22T10:00:00.000Z", "2025-08-22T10:00:07.000Z"],
    ["2025-08-20T09:00:00.000Z", "2025-08-20T09:00:05.000Z"],
  ]);
  const { items } = await sessions.messages(row.id);
  expect(items.map(({ created_at }) => created_at.slice(0, 16))).toEqual([
    "2025-08-20T09:00",
    "2025-08-20T09:00",
    "2025-08-22T10:00",
    "2025-08-22T10:00",
  ]);
  const days = await store.usage({ tenant: "default", by: "day" });
  expect(days.map(({ key }) => key).toSorted()).toEqual(["2025-08-20", "2025-08-22"]);
  expect(row.last_run_at).toBe("2025-08-22T10:00:00.000Z");
  // Retention counts from the adoption, so that an old session is not deleted at once.
  expect(Date.now() - Date.parse(row.updated_at)).toBeLessThan(3_600_000);
});

test("each step of an adopted session has the price that its model had at the time of the step", async () => {
  const root = dataWith([
    typed(1, "hello"),
    { ...spoke(2, "m1", text("hi")), timestamp: "2026-08-20T09:00:00.000Z", message: priced("gpt-5.6-sol") },
  ]);
  const { events, row } = await adopted(root, 0);
  const usage = await getUsage({ dataPath: root, cacheFolder: null });
  const step = events.find(({ event_type }) => event_type === "step.generated");
  // $5 and $30 per million tokens until 21 August 2026, $4 and $20 since then.
  expect(usage.totals.costMicros).toBe(5000 + 3000);
  expect(row.cost_micros).toBe(8000);
  expect(step?.data).toMatchObject({ cost: { total_micros: 8000 } });
});

test("answers of a simulated run are exported without tokens, because Claude Code's files cannot mark a simulation", async () => {
  const root = dataWith([typed(1, "hello"), spoke(2, "m1", text("hi"))]);
  const { events } = await adopted(root, 0);
  const simulated = events.map((event) =>
    event.event_type === "step.generated" ? { ...event, data: { ...event.data, simulated: true as const } } : event,
  );
  const costOf = async (log: readonly Event[]): Promise<unknown> => {
    const home = folder();
    writeClaudeFiles(claudeFiles(ID, log), home);
    const { totals } = await getUsage({ dataPath: home, cacheFolder: null });
    return [totals.calls, totals.costMicros];
  };
  expect(await costOf(events)).toEqual([1, 4500]);
  expect(await costOf(simulated)).toEqual([0, 0]);
});

test("titles from Skein are exported as title lines of Claude Code, and a later export only adds lines", async () => {
  const root = dataWith([typed(1, "hello"), spoke(2, "m1", text("hi"))]);
  const { events } = await adopted(root, 0);
  const [created, ...rest] = events;
  if (created?.event_type !== "session.created") throw new Error("The log does not begin with its session.");
  const home = folder();
  const log: Event[] = [...events];
  const titleAfter = async (...facts: readonly Fact[]): Promise<string | null> => {
    log.push(...facts.map((fact) => ({ ...created, ...fact })));
    writeClaudeFiles(claudeFiles(ID, log), home);
    return (await getSession(ID, { dataPath: home, cacheFolder: null })).summary;
  };
  expect(await titleAfter()).toBe("hello");
  expect(await titleAfter({ event_type: "session.edited", data: { title: "Named in Skein" } })).toBe("Named in Skein");
  const prompt = transcriptAppended([{ type: "last-prompt", lastPrompt: "Go on.", sessionId: ID }], null);
  expect(await titleAfter(prompt)).toBe("Named in Skein");
  expect(await titleAfter({ event_type: "session.edited", data: { title: null } })).toBe("Go on.");
  // This session of Skein was created with a title.
  const own: Event = { ...created, data: { ...created.data, title: "From the beginning", metadata: {} } };
  const [file] = claudeFiles(ID, [own, ...rest]);
  expect(JSON.parse(file?.content.split("\n")[0] ?? "")).toEqual({
    type: "custom-title",
    customTitle: "From the beginning",
    sessionId: ID,
  });
});

test("a title line without a time does not move an adopted session to today", async () => {
  const title = JSON.stringify({ type: "custom-title", customTitle: "Old", sessionId: ID });
  const { events } = await adopted(dataWith([title, typed(1, "hello"), spoke(2, "m1", text("hi"))]), 0);
  const days = events.flatMap(({ data }) => ("happened_at" in data ? data.happened_at?.slice(0, 10) : []));
  expect(new Set(days)).toEqual(new Set(["2026-10-01"]));
});

test("a session is adopted once: a second adoption is rejected and changes nothing", async () => {
  const root = dataWith([typed(1, "hello"), spoke(2, "m1", text("hi"))]);
  const { store, claude, events } = await adopted(root, ID.slice(0, 8));
  await expect(adopt(claude, { store, tenant: "other" })).rejects.toMatchObject({ code: "already_exists" });
  expect(await store.read(ID)).toEqual(events);
});

test("an adopted session has the model of its last answer, and default permissions even if Claude Code allowed more", async () => {
  const root = dataWith([typed(1, "hello", { permissionMode: "bypassPermissions" }), spoke(2, "m1", text("hi"))]);
  const { state, row } = await adopted(root, 0);
  // The session has the model of the last answer. Its agent requests no model, so Claude Code's settings decide how the
  // session continues.
  expect(row.model).toBe("claude-sonnet-4-5");
  expect(state.agent).toMatchObject({ name: "Claude Code", runtime: "claude-code", model: "default" });
  expect(state.agent?.extras["claude"]).toMatchObject({
    permission_mode: "default",
    allowed_tools: [],
    cwd: "/work/app",
  });
});
