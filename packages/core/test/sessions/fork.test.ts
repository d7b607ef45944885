import { type AgentConfig, type JsonObject, createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { foldAll } from "../../src/log/fold.ts";
import { entriesOf } from "../../src/sessions/forked-transcript.ts";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import { createScript, scriptedAgent } from "../../src/testing/script.ts";

const claude: AgentConfig = {
  ...scriptedAgent,
  runtime: "claude-code",
  extras: { claude: { permission_mode: "acceptEdits", allowed_tools: ["Read"] } },
};

const PARENT = "11111111-1111-4111-8111-111111111111";
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Returns an entry of a transcript that follows the entry `parent`. */
function entry(n: number, parent: number | null, type: string, more: JsonObject = {}): JsonObject {
  return {
    parentUuid: parent === null ? null : uuid(parent),
    isSidechain: false,
    type,
    uuid: uuid(n),
    timestamp: "2026-11-01T10:00:00.000Z",
    sessionId: PARENT,
    cwd: "/work",
    version: "2.1.325",
    ...more,
  };
}

const prompt = (text: string): JsonObject => ({ message: { role: "user", content: text } });
const block = (id: string, ...content: JsonObject[]): JsonObject => ({ message: { id, role: "assistant", content } });
const call = (id: string): JsonObject => ({ type: "tool_use", id, name: "Read", input: { file_path: id } });
const result = (id: string): JsonObject => ({
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `of ${id}` }] },
  sourceToolAssistantUUID: uuid(3),
});

/** A prompt, two parallel calls (the first result comes before the second call), an answer, and another turn. */
const ENTRIES: readonly JsonObject[] = [
  { type: "queue-operation", operation: "enqueue", sessionId: PARENT },
  entry(1, null, "user", prompt("look at a and b")),
  entry(2, 1, "attachment", { attachment: { type: "queued_command", source_uuid: uuid(1) } }),
  entry(3, 2, "assistant", block("msg_1", { type: "text", text: "Looking." }, call("toolu_a"))),
  entry(4, 3, "user", result("toolu_a")),
  entry(5, 4, "assistant", block("msg_1", call("toolu_b"))),
  entry(6, 5, "user", result("toolu_b")),
  entry(7, 6, "assistant", block("msg_2", { type: "text", text: "Both are fine." })),
  { type: "cost-state", totalCostUSD: 1, sessionId: PARENT },
  { type: "tools-used", tools: ["Read"], sessionId: PARENT },
  entry(8, 7, "user", prompt("thanks")),
  entry(9, 8, "assistant", block("msg_3", { type: "text", text: "You are welcome." })),
  entry(10, 9, "system", { subtype: "compact_boundary", compactMetadata: { preservedSegment: { headUuid: uuid(8) } } }),
];

const blocks = (...content: { type: string; [key: string]: unknown }[]) => content;

/**
 * Creates a session of the runtime Claude Code. Its log has messages and a transcript, and its prompts have fixed ids.
 */
async function parent() {
  const ids = createIds();
  const store = createMemoryStore();
  const sessions = createSessions({ store, ids });
  const script = createScript({ store, ids, sessionId: PARENT });
  await script.create({ agent: claude, title: "Two files" });
  const lease = await script.claim();
  const messages = [
    { id: uuid(1), role: "user" as const, content: "look at a and b" },
    {
      id: ids(),
      role: "assistant" as const,
      content: blocks({ type: "text", text: "Looking." }, call("toolu_a") as never, call("toolu_b") as never),
    },
    {
      id: ids(),
      role: "user" as const,
      content: ["toolu_a", "toolu_b"].map((id) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` })),
    },
    { id: ids(), role: "assistant" as const, content: blocks({ type: "text", text: "Both are fine." }) },
    { id: uuid(8), role: "user" as const, content: "thanks" },
    { id: ids(), role: "assistant" as const, content: blocks({ type: "text", text: "You are welcome." }) },
  ];
  await script.append(
    [
      { event_type: "transcript.appended", data: { entries: [...ENTRIES], subpath: null } },
      {
        event_type: "transcript.appended",
        data: { entries: [entry(90, null, "user", { isSidechain: true })], subpath: "subagents/agent-a1" },
      },
      ...messages.map(({ id, role, content }) => ({
        event_type: "message.copied" as const,
        data: { message_id: id, role, content },
      })),
    ],
    { lease, expect: 1, release: { dueAt: null } },
  );
  return { store, sessions, script, messages };
}

async function forkedAt(place: number | undefined) {
  const { store, sessions, messages } = await parent();
  const before = await store.read(PARENT);
  const messageId = place === undefined ? undefined : messages[place]?.id;
  const fork = await sessions.fork(PARENT, messageId === undefined ? {} : { messageId });
  expect(await store.read(PARENT)).toEqual(before);
  // The fork must be complete without its parent.
  await sessions.delete(PARENT);
  const log = await store.read(fork.id);
  return { sessions, fork, log, entries: entriesOf(log), state: foldAll(fork.id, log) };
}

const from = (entries: readonly JsonObject[]): unknown[] =>
  entries.map(({ forkedFrom }) => (forkedFrom as { messageUuid?: string } | undefined)?.messageUuid);

describe("a fork of a Claude Code session has a transcript for Claude Code", () => {
  test.each([
    ["at the prompt, with the entries that are linked to it", 0, [1, 2]],
    ["at an answer that has no id in the transcript", 3, [1, 2, 3, 4, 5, 6, 7]],
    ["at the results of its calls", 2, [1, 2, 3, 4, 5, 6]],
    ["at the last message", 5, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ["without a message, with the compaction at the end", undefined, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ])("a fork has Claude Code's transcript up to its message: %s", async (_, place, copied) => {
    const { entries, fork } = await forkedAt(place);
    expect(from(entries).filter(Boolean)).toEqual(copied.map(uuid));
    expect(entries.every(({ sessionId }) => sessionId === fork.id)).toBe(true);
    expect(entries.slice(copied.length).map(({ type }) => type)).toEqual(["tools-used", "custom-title"]);
  });

  test("a fork's transcript has new uuids with the same links between them", async () => {
    const { entries } = await forkedAt(3);
    const copies = entries.filter(({ forkedFrom }) => forkedFrom);
    const newOf = new Map(copies.map((copy, index) => [uuid(index + 1), copy["uuid"]]));
    expect(new Set(newOf.values()).size).toBe(7);
    expect([...newOf.values()]).not.toContain(uuid(1));
    expect(copies.map(({ parentUuid }) => parentUuid)).toEqual([
      null,
      ...[1, 2, 3, 4, 5, 6].map((n) => newOf.get(uuid(n))),
    ]);
    expect(copies[1]?.["attachment"]).toEqual({ type: "queued_command", source_uuid: newOf.get(uuid(1)) });
    expect(copies[3]).not.toHaveProperty("sourceToolAssistantUUID");
    expect(copies[3]?.["message"]).toEqual(result("toolu_a")["message"]);
  });

  test("a fork's transcript has the new uuids even inside a compaction", async () => {
    const { entries } = await forkedAt(undefined);
    expect(entries[9]?.["compactMetadata"]).toEqual({ preservedSegment: { headUuid: entries[7]?.["uuid"] } });
  });

  test("a fork's transcript closes the calls of its last message, even a call that has a result in the parent", async () => {
    const { entries, state } = await forkedAt(1);
    expect(from(entries).slice(0, 4)).toEqual([1, 2, 3, 5].map(uuid));
    const [, , first, second, closing] = entries;
    expect(second?.["parentUuid"]).toBe(first?.["uuid"]);
    expect(closing).toMatchObject({ type: "user", parentUuid: second?.["uuid"], cwd: "/work" });
    const message = closing?.["message"] as { content: { tool_use_id: string; is_error: boolean }[] } | undefined;
    const content = message?.content ?? [];
    expect(content.map(({ tool_use_id, is_error }) => [tool_use_id, is_error])).toEqual([
      ["toolu_a", true],
      ["toolu_b", true],
    ]);
    expect(state.transcript.at(-1)?.content).toEqual(content);
  });

  test("a fork can be forked again at any message, even at a copied message", async () => {
    const { sessions, fork, state } = await forkedAt(undefined);
    const answer = state.transcript[3];
    const second = await sessions.fork(fork.id, { messageId: answer?.id ?? "" });
    const copies = entriesOf(await sessions.events(second.id)).filter(({ forkedFrom }) => forkedFrom);
    expect(copies).toHaveLength(7);
    expect(copies.at(-1)).toMatchObject({ message: { id: "msg_2" } });
    expect(copies.at(-1)).toMatchObject({ forkedFrom: { sessionId: fork.id } });
  });
});

test.each([0, 1, 2, 3, 4, 5])(
  "a fork of an imported session has the same part of Claude Code's transcript as a fork of the original (message %i)",
  async (place) => {
    const { store, sessions, messages } = await parent();
    const copiesAt = async (id: string, messageId: string) => {
      const fork = await sessions.fork(id, { messageId });
      return entriesOf(await store.read(fork.id)).map(({ type, message }) => [type, message]);
    };
    const { id } = await sessions.import(await store.read(PARENT));
    const message = (await sessions.transcript(id))[place];
    expect(await copiesAt(id, message?.id ?? "")).toEqual(await copiesAt(PARENT, messages[place]?.id ?? ""));
  },
);

test("a fork inherits the settings that were changed in its parent, and a request for a fork can change them", async () => {
  const { sessions, script } = await parent();
  await script.append([{ event_type: "control.requested", data: { permission_mode: "plan", model: "claude-x" } }]);
  const inherited = await sessions.state((await sessions.fork(PARENT)).id);
  expect(inherited.agent).toMatchObject({ model: "claude-x", runtime: "claude-code" });
  expect(inherited.agent?.extras["claude"]).toEqual({
    permission_mode: "plan",
    allowed_tools: ["Read"],
    model: "claude-x",
  });
  const changed = await sessions.fork(PARENT, {
    id: uuid(77),
    metadata: { why: "try" },
    agent: (config) => ({ ...config, extras: { claude: { ...(config.extras["claude"] as object), max_turns: 3 } } }),
  });
  expect(changed).toMatchObject({ id: uuid(77), metadata: { why: "try" }, parent_session_id: PARENT });
  expect((await sessions.state(changed.id)).agent?.extras["claude"]).toMatchObject({
    permission_mode: "plan",
    max_turns: 3,
  });
});

test("a session without a Claude Code transcript can be forked", async () => {
  const ids = createIds();
  const store = createMemoryStore();
  const sessions = createSessions({ store, ids });
  const script = createScript({ store, ids });
  await script.create();
  await script.toolTurn("hi");
  const fork = await sessions.fork(script.sessionId);
  expect((await store.read(fork.id)).map(({ event_type }) => event_type)).toEqual([
    "session.created",
    ...Array.from({ length: 4 }, () => "message.copied"),
  ]);
});

test("a fork and its first prompt are stored in one append, and a repeated request returns the same fork", async () => {
  const ids = createIds();
  const store = createMemoryStore();
  const appends: string[] = [];
  const counted = {
    ...store,
    append: (...args: Parameters<typeof store.append>) => (appends.push(args[0]), store.append(...args)),
  };
  const sessions = createSessions({ store: counted, ids });
  const parent = createScript({ store, ids, sessionId: PARENT });
  await parent.create();
  await parent.toolTurn("Hello.");
  const id = ids();
  const begin = () =>
    sessions.beginFork(PARENT, "Go on.", { id, tags: ["copy"] }, { id: "request-1", fingerprint: "f" });
  const [first, again] = [await begin(), await begin()];
  expect(appends).toEqual([id, id]);
  expect([again.repeated, again.runId, again.sequence]).toEqual([true, first.runId, first.sequence]);
  const state = await sessions.state(id);
  expect(state.queue.map(({ content }) => content)).toEqual(["Go on."]);
  expect(state.transcript).toHaveLength(4);
  expect(await store.get(id)).toMatchObject({ parent_session_id: PARENT, tags: ["copy"], status: "idle" });
  expect(await store.claim({ owner: "w", leaseMs: 1000 })).toMatchObject({ kind: "leased", lease: { sessionId: id } });
});

test.each(["a\u0000b", "\ud800", "x".repeat(256)])(
  "a title that no store could store is rejected (%j)",
  async (title) => {
    const ids = createIds();
    const store = createMemoryStore();
    await createScript({ store, ids, sessionId: PARENT }).create();
    await expect(createSessions({ store, ids }).fork(PARENT, { title })).rejects.toMatchObject({ code: "invalid" });
  },
);
