import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@skein/core";
import type { Event } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { type Tool, createAgent, defineTool } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { move } from "../../src/move.ts";
import { fullTextMemory } from "../../src/open-memories.ts";
import { openStore } from "../../src/open-store.ts";
import { storeOf } from "../../../server/test/any-store.ts";
import { scripted } from "../../../core/test/loop/simulated.ts";

const pick = defineTool({
  name: "pick",
  description: "Asks the client.",
  input: z.object({}),
  executor: "frontend",
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "skein-move-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function world(kinds: readonly [string, string]) {
  const simulator = await createSimulator();
  const [from, to] = [await storeOf(kinds[0], folder()), await storeOf(kinds[1], folder())];
  onTestFinished(() => simulator.close());
  const agentOn = (store: string, tools: readonly Tool[] = [pick]) =>
    createAgent({
      name: "Mover",
      store,
      apiKey: "test",
      baseUrl: simulator.url,
      tools,
      memory_store_type: "full_text",
    });
  return { from, to, agentOn };
}

/** Returns all data of the sessions in a store. */
async function told(url: string): Promise<unknown> {
  const store = await openStore(url);
  const events: Event[] = [];
  for await (const event of store.scan()) events.push(event);
  const ids = [...new Set(events.map(({ session_id }) => session_id))];
  const sessions = await Promise.all(ids.map((id) => oneOf(store, id)));
  const records = [];
  for await (const { version: _, ...record } of store.records.scan()) records.push(record);
  const usage = await store.usage({ tenant: "default", by: "session" });
  await store.close();
  const memory = await fullTextMemory(url);
  const memories = [];
  for await (const row of memory.all()) memories.push({ ...row });
  await memory.close();
  const byKey = usage.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return { events, sessions, usage: byKey, memories, records: records.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

async function oneOf(store: Store, id: string): Promise<unknown> {
  return {
    session: await store.get(id),
    messages: await store.messages(id),
    runs: await store.runs(id),
    awaits: await store.awaits(id),
    checkpoints: await store.checkpoints(id),
  };
}

test.each([
  ["sqlite", "postgres"],
  ["postgres", "file"],
  ["file", "sqlite"],
] as const)("everything in a store moves from %s to %s, and a waiting run continues there", async (...kinds) => {
  const { from, to, agentOn } = await world(kinds);
  const before = agentOn(from);
  const { sessionId: done } = await before.run(scripted("done", [{ text: "Done." }]));
  await before.run(scripted("again", [{ text: "Again." }]), { sessionId: done });
  await (await before.sessions()).fork(done);
  const waits = await before.run(
    scripted("waits", [{ tools: [{ name: "pick", id: "toolu_1" }] }, { text: "So: $LAST" }]),
  );
  await before.close();
  const old = await openStore(from);
  await old.records.put([{ tenant: "default", kind: "note", id: "a", value: { is: "kept" }, fields: { tag: ["x"] } }]);
  await old.close();
  const was = await told(from);

  expect(await move(from, to)).toMatchObject({ sessions: 3, runs: 1, memories: 2, busy: [], apart: [] });
  expect(await told(to)).toEqual(was);
  expect(await told(from)).toEqual(was);
  expect(await move(from, to)).toMatchObject({ sessions: 3, events: 0, records: 0, busy: [], apart: [] });

  const after = agentOn(to);
  const answered = await after.answer(waits.sessionId, [{ toolUseId: "toolu_1", content: "red" }]);
  expect(answered).toMatchObject({ finalAnswer: "So: red", runId: waits.runId });
  await after.run(scripted("on", [{ text: "On." }]), { sessionId: done });
  await after.close();
  expect(await move(from, to)).toMatchObject({ events: 0, busy: [], apart: [] });
});

test("a run in progress moves only after its lease (the right of one process to continue it) is free", async () => {
  const { from, to, agentOn } = await world(["sqlite", "sqlite"]);
  let calls = 0;
  let finish = (): void => {};
  const slow = defineTool({
    name: "slow",
    description: "Takes as long as its process lives.",
    input: z.object({}),
    policy: "repeatable",
    run: () => (calls++ === 0 ? new Promise((resolve) => (finish = () => resolve("first"))) : "second"),
  });
  const before = agentOn(from, [slow]);
  const running = before.run(scripted("drives", [{ tools: [{ name: "slow" }] }, { text: "The $LAST" }]));
  const isClosed = expect(running).rejects.toMatchObject({ code: "closed" });
  await expect.poll(() => calls).toBe(1);

  const first = await move(from, to);
  expect(first).toMatchObject({ sessions: 1, runs: 0, busy: [expect.any(String)] });
  const there = await openStore(to);
  expect(await there.claim({ owner: "somebody", leaseMs: 1000 })).toEqual({ kind: "none", nextAt: null });
  await there.close();

  const closing = before.close();
  finish();
  await Promise.all([closing, isClosed]);
  expect(await move(from, to)).toMatchObject({ sessions: 1, runs: 1, busy: [] });
  const here = await openStore(from);
  expect(await here.claim({ owner: "somebody", leaseMs: 1000 })).toEqual({ kind: "none", nextAt: null });
  await here.close();
  const after = agentOn(to, [slow]);
  const end = await after.resume(first.busy[0] ?? "");
  expect(end).toMatchObject({ stopReason: "end_turn", finalAnswer: "The first" });
  await after.close();
});

test("a session that continued in both stores is reported and not changed", async () => {
  const { from, to, agentOn } = await world(["sqlite", "sqlite"]);
  const [here, there] = [agentOn(from), agentOn(to)];
  const { sessionId } = await here.run(scripted("one", [{ text: "One." }]));
  await move(from, to);
  await here.run(scripted("here", [{ text: "Here." }]), { sessionId });
  await there.run(scripted("there", [{ text: "There." }]), { sessionId });
  const was = await (await there.sessions()).events(sessionId);
  expect(await move(from, to)).toMatchObject({ events: 0, apart: [sessionId] });
  expect(await (await there.sessions()).events(sessionId)).toEqual(was);
  await Promise.all([here.close(), there.close()]);
});

test("if a move is interrupted in the middle of a session, the next move finishes it", async () => {
  const { from, to, agentOn } = await world(["sqlite", "file"]);
  const before = agentOn(from);
  const { sessionId } = await before.run(scripted("one", [{ text: "One." }]));
  await before.run(scripted("two", [{ text: "Two." }]), { sessionId });
  await before.close();
  const was = await told(from);
  const [old, target] = [await openStore(from), await openStore(to)];
  const log = await old.read(sessionId, { limit: 3 });
  await target.append(sessionId, log, { expect: 0, claim: { owner: "mover", leaseMs: 1 } });
  await Promise.all([old.close(), target.close()]);
  expect(await move(from, to)).toMatchObject({ busy: [], apart: [] });
  const { events } = (await told(to)) as { events: Event[] };
  expect(events.map(({ id, sequence }) => [id, sequence])).toEqual(
    (was as { events: Event[] }).events.map(({ id, sequence }) => [id, sequence]),
  );
});
