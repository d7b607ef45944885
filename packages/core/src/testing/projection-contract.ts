import { FACTS, type Fact } from "@skein/protocol";
import { expect, test } from "vitest";
import { createMemoryStore } from "../memory-store/memory-store.ts";
import type { Store } from "../ports/store.ts";
import { createSessions } from "../sessions/sessions.ts";
import { playEverything } from "./every-fact.ts";
import { type Script, createScript, scriptedAgent } from "./script.ts";
import type { StoreFixture } from "./store-fixture.ts";

/** Tests that every store derives the same rows from a log as the memory store, which is the reference. */
export function describeProjections(fixture: () => StoreFixture): void {
  test("a store returns a new session exactly as its creator got it", async () => {
    const agent = { id: fixture().ids(), version: 1, status: "active" as const, config: scriptedAgent };
    const sessions = createSessions({ store: fixture().store });
    const created = await sessions.create(agent, { title: "T", tags: ["a"], metadata: { user: "ada" } });
    expect(await sessions.get(created.id)).toEqual(created);
  });

  test("a store derives the session, messages and run of a turn with a tool call", async () => {
    const script = await fixture().created();
    await script.toolTurn("How much is 2+2?");
    const { store } = fixture();
    const { items } = await store.messages(script.sessionId);
    expect(
      items.map(({ sequence, role, tool_call_id, content }) => [sequence, role, tool_call_id !== null, content]),
    ).toEqual([
      [1, "user", false, { text: "How much is 2+2?" }],
      [2, "assistant", false, { text: "Let me look." }],
      [3, "tool_call", true, { id: items[2]?.tool_call_id, name: "search", arguments: { query: "How much is 2+2?" } }],
      [4, "tool_result", true, { result: "4", error: null }],
      [5, "assistant", false, { text: "The answer is 4" }],
    ]);
    const { items: runs } = await store.runs(script.sessionId);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      number: 1,
      outcome: "completed",
      stop_reason: "end_turn",
      total_steps: 2,
      user_message: "How much is 2+2?",
      final_response: "The answer is 4",
      usage: {
        input_tokens: 3800,
        output_tokens: 2600,
        cache_creation_input_tokens: 400,
        cache_read_input_tokens: 800,
      },
      cost: { total_cost: 0.05214, total_input_tokens: 5000, model_id: "claude-sonnet-4-5", currency: "USD" },
      cost_micros: 52_140,
      first_sequence: 3,
      last_sequence: 14,
    });
    expect(await store.get(script.sessionId)).toMatchObject({
      status: "idle",
      outcome: "completed",
      run_id: null,
      total_runs: 1,
      total_turns: 1,
      cost_micros: 52_140,
      last_known_input_tokens: 1900,
    });
  });

  test("a store numbers a message when it enters the transcript, not when it is accepted", async () => {
    const script = await fixture().created();
    const early = await script.prompt("queued while the other runs");
    await script.toolTurn("first to run");
    const { items } = await fixture().store.messages(script.sessionId);
    expect(items.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    expect(items.some(({ id }) => id === early.messageId)).toBe(false);
  });

  test("a store derives the same rows as the reference store from every type of fact", async () => {
    const reference = createMemoryStore();
    const views = [];
    for (const store of [fixture().store, reference]) {
      const script = createScript({ store, ids: countingIds(), sessionId: sharedId });
      await playEverything(script);
      const played = (await store.read(script.sessionId)).map(({ event_type }) => event_type);
      expect([...new Set(played)].toSorted()).toEqual(Object.keys(FACTS).toSorted());
      views.push(await everything(store, script.sessionId));
    }
    expect(views[0]).toEqual(views[1]);
    await reference.close();
  });

  test("a log that is written in one append has the same rows as a log that is written step by step", async () => {
    const reference = createMemoryStore();
    const views = [];
    const { store } = fixture();
    for (const [where, together] of [[store, true] as const, [store, false] as const, [reference, false] as const]) {
      const script = createScript({ store: where, ids: countingIds(), sessionId: sharedId });
      views.push(await everything(where, await beginRunning(script, together)));
      await where.delete(script.sessionId);
    }
    expect(views[0]).toEqual(views[2]);
    expect(views[1]).toEqual(views[2]);
    expect(views[0]).toMatchObject({ session: { status: "running", model: "claude-other", tags: ["a"] } });
    await reference.close();
  });

  test("an append with a second checkpoint for one user message is rejected as a whole", async () => {
    const script = await fixture().created();
    const lease = await script.claim();
    const checkpoint = (): Fact => ({
      event_type: "checkpoint.created",
      data: { checkpoint_id: fixture().ids(), user_message_uuid: "u1", files_modified: ["/a"] },
    });
    await script.append([checkpoint()], { lease });
    await expect(script.append([checkpoint()], { lease })).rejects.toMatchObject({ code: "already_exists" });
    expect(await fixture().store.read(script.sessionId)).toHaveLength(2);
    expect(await fixture().store.checkpoints(script.sessionId)).toHaveLength(1);
    const fork = await fixture().created();
    await fork.append([checkpoint()], { lease: await fork.claim() });
  });

  test("a store lists an await (a tool call that waits for a person or client) from its question until its answer", async () => {
    const script = await fixture().created();
    const lease = await script.claim();
    const run_id = fixture().ids();
    const asked = (tool_use_id: string) => ({
      tool_use_id,
      kind: "question" as const,
      name: "AskUserQuestion",
      input: { questions: [] },
      expires_at: null,
      session_id: null,
    });
    await script.append(
      [{ event_type: "await.opened", data: { run_id, step: 1, awaits: [asked("t1"), asked("t2")] } }],
      { lease },
    );
    expect((await fixture().store.awaits(script.sessionId)).map(({ tool_use_id }) => tool_use_id)).toEqual([
      "t1",
      "t2",
    ]);
    expect(await fixture().store.get(script.sessionId)).toMatchObject({ status: "awaiting" });
    const resolved = { run_id, step: 1, tool_use_id: "t1", resolution: "answered" as const, waited_ms: 5 };
    await script.append([{ event_type: "await.resolved", data: resolved }], { lease });
    expect((await fixture().store.awaits(script.sessionId)).map(({ tool_use_id }) => tool_use_id)).toEqual(["t2"]);
  });

  test("pages of messages and runs have no gap and no repeat", async () => {
    const script = await fixture().created();
    for (let i = 0; i < 5; i++) await script.toolTurn(`turn ${i}`);
    const messages = await pages((options) => fixture().store.messages(script.sessionId, options));
    expect(messages.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    const runs = await pages((options) => fixture().store.runs(script.sessionId, options));
    expect(runs.map(({ number }) => number)).toEqual([5, 4, 3, 2, 1]);
  });

  test("a session can be forked at any message; this does not change the parent, and deleting the parent does not change the fork", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const script = await fixture().created();
    await script.toolTurn("How much is 2+2?");
    const before = JSON.stringify(await store.read(script.sessionId));
    const transcript = await sessions.transcript(script.sessionId);
    expect(transcript.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);

    const whole = await sessions.fork(script.sessionId);
    // The assistant's message contains a call. A fork at this message must add a result, because models reject a call
    // without one.
    const atCall = await sessions.fork(script.sessionId, { messageId: transcript[1]?.id ?? "", title: "at the call" });
    expect(JSON.stringify(await store.read(script.sessionId))).toBe(before);
    await store.delete(script.sessionId);

    expect((await sessions.transcript(whole.id)).map(({ content }) => content)).toEqual(
      transcript.map(({ content }) => content),
    );
    expect(whole).toMatchObject({
      parent_session_id: script.sessionId,
      forked_from_sequence: 14,
      cost_micros: 0,
      total_runs: 0,
    });
    const { items } = await store.messages(atCall.id);
    expect(items.map(({ role }) => role)).toEqual(["user", "assistant", "tool_call", "tool_result"]);
    expect(items[3]).toMatchObject({ content: { result: null } });
    await expect(sessions.fork(whole.id, { messageId: ids() })).rejects.toMatchObject({ code: "not_found" });
  });
}

const sharedId = "01890000-0000-7000-8000-00000000000a";

/** Returns a function that counts up ids, so that both stores get the same ids and their rows can be compared. */
function countingIds(): () => string {
  let next = 0;
  return () => `01890000-0000-7000-8000-${(next += 16).toString(16).padStart(12, "0")}`;
}

/** Returns all items of a list, read in pages of two. */
export async function pages<Item>(
  page: (options: { limit: number; cursor?: string }) => Promise<{ items: readonly Item[]; cursor: string | null }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | null | undefined;
  do {
    const { items, cursor: next } = await page({ limit: 2, ...(cursor && { cursor }) });
    all.push(...items);
    cursor = next;
  } while (cursor !== null);
  return all;
}

/** Returns everything that a store has about a session, except the times. */
async function everything(store: Store, sessionId: string): Promise<unknown> {
  const all = {
    events: await store.read(sessionId),
    session: await store.get(sessionId),
    messages: await store.messages(sessionId, { limit: 1000 }),
    runs: await store.runs(sessionId),
    awaits: await store.awaits(sessionId),
    checkpoints: await store.checkpoints(sessionId),
  };
  return JSON.parse(
    JSON.stringify(all, (key, value) => (/_at$|^timestamp$/.test(key) && value !== null ? "time" : value)),
  );
}

/** Creates a session with a prompt, a run in progress and a changed model, in one append or in several. */
async function beginRunning({ sessionId, append }: Script, together: boolean): Promise<string> {
  const [message_id, run_id] = ["01890000-0000-7000-8000-00000000aaaa", "01890000-0000-7000-8000-00000000bbbb"];
  const claim = { owner: "w", leaseMs: 60_000 };
  const entered = { messages_before_count: 0, messages_after_count: 1, tokens_before: 0, tokens_after: 3 };
  const step = { run_id, step: 1, attempt: 1, purpose: "step" as const, model: "m", max_tokens: 9, thinking_tokens: 0 };
  const facts: readonly Fact[] = [
    {
      event_type: "session.created",
      data: {
        tenant: "default",
        agent_id: "01890000-0000-7000-8000-000000000001",
        agent_version: 1,
        agent: scriptedAgent,
        title: "t",
        tags: ["a"],
        model_id: null,
        working_directory: null,
        metadata: { k: "v" },
        parent: null,
        subagent_of: null,
      },
    },
    {
      event_type: "prompt.accepted",
      data: { message_id, run_id, mode: "queue", content: "hi", model: null, max_cost_micros: null },
    },
    { event_type: "session.started", data: { run_id, message_id, user_message: "hi", formatter: "json" } },
    {
      event_type: "message.created",
      data: {
        ...entered,
        message_id,
        run_id,
        step: 0,
        role: "user",
        rows: 1,
        transformation_type: "user_message_added",
      },
    },
    { event_type: "step.started", data: { ...step, tools_count: 0, messages_count: 1, estimated_tokens: 3 } },
    { event_type: "control.requested", data: { permission_mode: null, model: "claude-other" } },
  ];
  const [created, ...others] = facts;
  if (together) await append(facts, { expect: 0, claim });
  else {
    await append([created as Fact], { expect: 0, claim });
    for (const fact of others) await append([fact], { lease: { ...claim, sessionId, fence: 1 } });
  }
  return sessionId;
}
