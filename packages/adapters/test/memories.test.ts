import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FullTextMemory, createFullTextMemory } from "@skein/adapters/memories/full-text";
import { createNoMemory } from "@skein/adapters/memories/none";
import { createPlaceholderMemory } from "@skein/adapters/memories/placeholder";
import { type SessionState, emptyState } from "@skein/core";
import { createPostgresMemory } from "@skein/adapters/memories/postgres";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { type Database, createDatabase } from "../../../scripts/postgres.ts";

const who = { tenant: "default", agentId: "agent-1" };

/** A session in the middle of a run, with the fields that a memory reads. */
function sessionOf(sessionId: string, prompt: string, other: Partial<SessionState> = {}): SessionState {
  const run = { runId: `${sessionId}/run`, prompt: { content: prompt } } as unknown as SessionState["run"];
  return { ...emptyState(sessionId), ...who, run, ...other };
}

test.each([createNoMemory(), createPlaceholderMemory()])(
  "$type remembers nothing, and reports that it stored and found 0 memories",
  async (memory) => {
    const state = sessionOf("s1", "The harbour opens at nine.");
    expect(await memory.update({ state, answer: "Noted." })).toBe(0);
    expect(await memory.retrieve({ state, query: "harbour" })).toEqual({ found: 0, memories: [] });
  },
);

test("the error for a memory file that cannot be opened has a code and names the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-memory-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "memory.db");
  await writeFile(file, "This is a text, and longer than the header of a database. ".repeat(20));
  expect(() => createFullTextMemory({ file })).toThrow(
    expect.objectContaining({ code: "store_corrupt", message: `${file}: The file is not a sqlite database.` }),
  );
  expect(() => createFullTextMemory({ file: folder })).toThrow(expect.objectContaining({ code: "read_only" }));
});

let database: Database;
beforeAll(async () => {
  database = await createDatabase(inject("postgres").url);
});
afterAll(() => database.drop());

const MEMORIES: readonly (readonly [string, (options: { limit?: number }) => FullTextMemory])[] = [
  ["sqlite", createFullTextMemory],
  ["postgres", (options) => createPostgresMemory({ url: database.url, ...options })],
];

describe.each(MEMORIES)("full_text on %s", (_, create) => {
  /** The tests share a database, so each test has a different tenant. */
  let who = { tenant: "", agentId: "agent-1" };

  async function open(options: { limit?: number } = {}): Promise<FullTextMemory> {
    who = { ...who, tenant: crypto.randomUUID() };
    const memory = create(options);
    onTestFinished(() => memory.close());
    return memory;
  }

  const session = (id: string, prompt: string, other: Partial<SessionState> = {}): SessionState =>
    sessionOf(id, prompt, { ...who, ...other });

  test("memories of another session are found, the best first, and all matches are counted", async () => {
    const memory = await open({ limit: 2 });
    await memory.update({ state: session("s1", "When does the harbour open?"), answer: "The harbour opens at nine." });
    await memory.update({ state: session("s2", "Which ships are in the harbour?"), answer: "None." });
    await memory.update({ state: session("s3", "Bake a cake near the harbour"), answer: "With flour and eggs." });
    const { found, memories } = await memory.retrieve({
      state: session("s4", ""),
      query: "When does the harbour open today?",
    });
    expect(found).toBe(3);
    expect(memories).toHaveLength(2);
    expect(memories[0]).toBe("Asked: When does the harbour open?\nAnswered: The harbour opens at nine.");
  });

  test("memories are not shared with another agent or another tenant", async () => {
    const memory = await open();
    await memory.update({ state: session("s1", "The code is 4711"), answer: "Noted 4711" });
    for (const other of [{ tenant: "acme" }, { agentId: "agent-2" }]) {
      const { found } = await memory.retrieve({ state: session("s2", "", other), query: "code 4711" });
      expect(found).toBe(0);
    }
  });

  test("storing the same run twice, as after a crash, makes one memory", async () => {
    const memory = await open();
    const state = session("s1", "Harbour");
    expect(await memory.update({ state, answer: "Nine" })).toBe(1);
    expect(await memory.update({ state, answer: "Nine" })).toBe(1);
    expect((await memory.retrieve({ state: session("s2", ""), query: "harbour" })).found).toBe(1);
  });

  test("memories of a deleted session are removed, and memories of other sessions stay", async () => {
    const memory = await open();
    await memory.update({ state: session("s1", "The harbour"), answer: "Nine" });
    await memory.update({ state: session("s2", "The harbour"), answer: "Ten" });
    await memory.forget?.({ tenant: "another", sessionId: "s1" });
    expect((await memory.retrieve({ state: session("s3", ""), query: "harbour" })).found).toBe(2);
    for (let time = 0; time < 2; time += 1) await memory.forget?.({ tenant: who.tenant, sessionId: "s1" });
    const { memories } = await memory.retrieve({ state: session("s3", ""), query: "harbour nine" });
    expect(memories).toEqual(["Asked: The harbour\nAnswered: Ten"]);
  });

  test("from the current session only messages that a compaction dropped are recalled, because the model still sees the other messages", async () => {
    const memory = await open();
    const state = session("s1", "Tell me about the lighthouse", {
      transcript: [
        { id: "m1", role: "user", content: "The lighthouse keeper is called Ada." },
        { id: "m2", role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: { at: "lamp" } }] },
        { id: "m3", role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "The lamp is green." }] },
      ],
    });
    await memory.update({ state, answer: "The lighthouse is tall." });
    expect((await memory.retrieve({ state, query: "lighthouse" })).found).toBe(0);
    expect(await memory.beforeCompaction(state)).toEqual({ memories_written: 3 });
    expect(await memory.afterCompaction(state)).toEqual({ memories_found: 3 });
    expect((await memory.retrieve({ state, query: "Who keeps the lighthouse?" })).memories).toEqual([
      "User: The lighthouse keeper is called Ada.",
    ]);
    expect((await memory.retrieve({ state, query: "green lamp" })).memories[0]).toBe(
      "User: Result: The lamp is green.",
    );
  });

  test.each([
    '"',
    "harbour OR *",
    "NEAR(a b)",
    "col:harbour",
    "^harbour",
    "-",
    "",
    "\0",
    "the of and",
    "🐙",
    "x".repeat(1e6),
  ])("a prompt is never read as query syntax: %j", async (query) => {
    const memory = await open();
    await memory.update({ state: session("s1", "harbour"), answer: "nine" });
    const { found } = await memory.retrieve({ state: session("s2", ""), query });
    expect(found).toBe(query.includes("harbour") ? 1 : 0);
  });

  test.each([
    ["Japanese", "あ".repeat(700)],
    ["Korean", "한".repeat(900)],
  ])(
    "a long %s text without a space is stored, and other memories of the same call are found",
    async (_language, text) => {
      const memory = await open();
      const transcript = [text, `The harbour. ${text}`].map((content, at) => ({
        id: `m${at}`,
        role: "user" as const,
        content,
      }));
      const state = session("s1", "", { transcript });
      expect(await memory.beforeCompaction(state)).toEqual({ memories_written: 2 });
      expect((await memory.retrieve({ state, query: "harbour" })).memories).toEqual([`User: The harbour. ${text}`]);
    },
  );

  test("words are found regardless of accents and case", async () => {
    const memory = await open();
    await memory.update({ state: session("s1", "Das Café in Zürich"), answer: "geöffnet" });
    for (const query of ["CAFE", "zurich", "Geöffnet?"])
      expect((await memory.retrieve({ state: session("s2", ""), query })).found).toBe(1);
  });
});

test("machines on the same PostgreSQL share memories, and several may start at the same time", async () => {
  const fresh = await createDatabase(inject("postgres").url);
  onTestFinished(() => fresh.drop());
  const machines = Array.from({ length: 4 }, () => createPostgresMemory({ url: fresh.url }));
  await Promise.all(
    machines.map((memory, at) => memory.update({ state: sessionOf(`s${at}`, "harbour"), answer: `${at} o'clock` })),
  );
  const found = await machines[3]?.retrieve({ state: sessionOf("other", ""), query: "the harbour" });
  expect(found?.found).toBe(4);
  await Promise.all(machines.map((memory) => memory.close()));
});

test("an unreachable PostgreSQL is an error, not a crash", async () => {
  const memory = createPostgresMemory({ url: "postgres://nobody@127.0.0.1:1/none" });
  await expect(memory.retrieve({ state: sessionOf("s1", ""), query: "harbour" })).rejects.toThrow(/ECONNREFUSED/);
  await memory.close();
});

test("memories stay in a file for the next process, and only the owner can read the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-memory-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "memories.db");
  const before = process.umask(0);
  const first = createFullTextMemory({ file });
  process.umask(before);
  await first.update({ state: sessionOf("s1", "harbour"), answer: "x".repeat(5000) });
  for (const name of ["memories.db", "memories.db-wal"])
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  await first.close();
  const second = createFullTextMemory({ file });
  onTestFinished(() => second.close());
  const { memories } = await second.retrieve({ state: sessionOf("s2", ""), query: "harbour" });
  expect(memories[0]?.length).toBeLessThanOrEqual(1000);
});
