import { createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import type { Store } from "../../src/ports/store.ts";
import { snapshotOf } from "../../src/log/fold.ts";
import { createScript, scriptedAgent } from "../../src/testing/script.ts";

const agent = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active" as const,
  config: scriptedAgent,
};
const nobody = "01890000-0000-7000-8000-0000000000ff";

function bench(tenant?: string) {
  const ids = createIds();
  const store = createMemoryStore();
  return { ids, store, sessions: createSessions({ store, ids, ...(tenant !== undefined && { tenant }) }) };
}

/** Creates a session with a claimed prompt, and the events that begin its run. */
async function claimed() {
  const { ids, store, sessions } = bench();
  const { id } = await sessions.create(agent);
  const script = createScript({ store, ids, sessionId: id });
  const { runId, messageId } = await script.prompt("hi");
  const lease = await script.claim();
  const data = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" };
  const start = (): Promise<void> => script.append([{ event_type: "session.started", data }], { lease });
  return { ids, store, sessions, id, runId, script, lease, start };
}

/** Creates a session whose run waits for an answer to t1. */
async function awaiting() {
  const { store, sessions, id, runId, script, lease, start } = await claimed();
  await start();
  const asked = { tool_use_id: "t1", kind: "question" as const, name: "ask", input: {} };
  await script.append(
    [
      {
        event_type: "await.opened",
        data: { run_id: runId, step: 1, awaits: [{ ...asked, expires_at: null, session_id: null }] },
      },
    ],
    { lease },
  );
  return { store, sessions, id, runId, script, lease };
}

describe("create", () => {
  test("create makes an idle session with the given fields and the version of its agent", async () => {
    const { sessions } = bench();
    const options = { title: "T", tags: ["a"], metadata: { k: 1 }, workingDirectory: "/w", modelId: nobody };
    expect(await sessions.create(agent, options)).toMatchObject({
      agent_id: agent.id,
      agent_version: 1,
      model: scriptedAgent.model,
      title: "T",
      tags: ["a"],
      metadata: { k: 1 },
      working_directory: "/w",
      model_id: nobody,
      status: "idle",
      outcome: null,
      total_runs: 0,
    });
  });

  test.each([
    ["an unknown field", { titel: "T" }, /titel/],
    ["a title of 256 characters", { title: "t".repeat(256) }, /^title: /],
    ["a title with NUL", { title: "a\0" }, /^title: /],
    ["an invalid id", { id: "session-1" }, /^id: /],
    ["an empty tag", { tags: [""] }, /^tags\.0: /],
    ["a path of 501 characters", { workingDirectory: `/${"w".repeat(500)}` }, /^workingDirectory: /],
  ])("create rejects %s, with the place of the error", async (_, options, sentence) => {
    const { sessions } = bench();
    const created = sessions.create(agent, options as Record<string, unknown>);
    await expect(created).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(sentence) });
    expect((await sessions.list()).items).toEqual([]);
  });

  test("create rejects an archived agent", async () => {
    const created = bench().sessions.create({ ...agent, status: "archived" });
    await expect(created).rejects.toMatchObject({ code: "archived" });
  });

  test("create with the same idempotency key makes one session, and rejects another request with that key", async () => {
    const { sessions } = bench();
    const key = { id: "k", fingerprint: "f" };
    const [first, second] = [await sessions.create(agent, {}, key), await sessions.create(agent, {}, key)];
    expect(second.id).toBe(first.id);
    const other = sessions.create(agent, {}, { id: "k", fingerprint: "g" });
    await expect(other).rejects.toMatchObject({ code: "key_reused" });
    expect((await sessions.list()).items).toHaveLength(1);
  });
});

describe("prompt", () => {
  test("prompt stores a prompt, makes its session due, and returns the id of the run that will begin", async () => {
    const { sessions, store } = bench();
    const { id } = await sessions.create(agent);
    const accepted = await sessions.prompt(id, "hi");
    expect(accepted).toMatchObject({ sessionId: id, sequence: 2, repeated: false });
    const [, event] = await sessions.events(id);
    expect(event).toMatchObject({
      event_type: "prompt.accepted",
      data: { message_id: accepted.messageId, run_id: accepted.runId, mode: "queue", content: "hi" },
    });
    expect(await store.claim({ owner: "w", leaseMs: 1000 })).toMatchObject({ kind: "leased" });
  });

  test("prompts wait in the queue in their order", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    for (const content of ["one", "two", "three"]) await sessions.prompt(id, content);
    expect((await sessions.state(id)).queue.map(({ content }) => content)).toEqual(["one", "two", "three"]);
    expect((await sessions.messages(id)).items).toEqual([]);
  });

  test("a prompt keeps its blocks unchanged", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const text = '[{"text":"hi","type":"text"},{"b":1,"type":"hologram","__proto__":{"a":1}}]';
    await sessions.prompt(id, { content: JSON.parse(text) });
    const [, event] = await sessions.events(id);
    expect(JSON.stringify(event?.event_type === "prompt.accepted" && event.data.content)).toBe(text);
  });

  test.each([
    ["0 characters", "", "invalid"],
    ["no blocks", { content: [] }, "invalid"],
    ["a block without its text", { content: [{ type: "text" }] }, "invalid"],
    ["an unknown mode", { content: "hi", mode: "shout" }, "invalid"],
    ["an unknown field", { content: "hi", temperature: 1 }, "invalid"],
    ["a model without a name", { content: "hi", model: "" }, "invalid"],
    ["a negative cost limit", { content: "hi", maxCostMicros: -1 }, "invalid"],
    ["more than 32 Mi characters", "x".repeat(32 * 1024 * 1024 + 1), "too_large"],
  ])("a prompt with %s is rejected, and nothing is stored", async (_, prompt, code) => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    await expect(sessions.prompt(id, prompt as string)).rejects.toMatchObject({ code });
    expect(await sessions.events(id)).toHaveLength(1);
  });

  test("a prompt with the same idempotency key is accepted once, and repeated requests get the same response", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const key = { id: "k", fingerprint: "f" };
    const first = await sessions.prompt(id, "hi", key);
    expect(await sessions.prompt(id, "hi", key)).toEqual({ ...first, repeated: true });
    expect(await sessions.events(id)).toHaveLength(2);
  });
});

describe("cancel", () => {
  test("cancel without a run id cancels the run in progress, and returns its id", async () => {
    const { sessions, id, runId } = await awaiting();
    const asked = await sessions.cancel(id, { reason: "enough" });
    expect(asked.id).toBe(runId);
    const [event] = await sessions.events(id, { after: asked.sequence - 1 });
    expect(event).toMatchObject({ event_type: "cancel.requested", data: { run_id: runId, reason: "enough" } });
  });

  test("cancel without a run id cancels the next run, if none is in progress", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const { runId } = await sessions.prompt(id, "hi");
    await sessions.prompt(id, "and then");
    expect((await sessions.cancel(id)).id).toBe(runId);
    expect((await sessions.state(id)).queue).toMatchObject([{ content: "and then" }]);
  });

  test.each([
    ["named", true],
    ["not named", false],
  ])("cancel also cancels a run that begins after cancel has read the session (%s)", async (_, isNamed) => {
    const { ids, store, sessions, id, runId, start } = await claimed();
    // The cancel has just read that no run is in progress.
    const late: Store = {
      ...store,
      async get(...asked) {
        const session = await store.get(...asked);
        if (session?.run_id === null) await start();
        return session;
      },
    };
    const { id: cancelled } = await createSessions({ store: late, ids }).cancel(id, isNamed ? { runId } : {});
    expect(cancelled).toBe(runId);
    expect((await sessions.state(id)).run).toMatchObject({ runId, cancelRequested: true });
  });

  test("a run that is cancelled in the queue never starts", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const { runId } = await sessions.prompt(id, "hi");
    await sessions.cancel(id, { runId });
    expect((await sessions.state(id)).queue).toEqual([]);
    await expect(sessions.cancel(id, { runId })).rejects.toMatchObject({ code: "not_running" });
  });

  test("cancel is rejected if the session has no run, or the run has ended", async () => {
    const { sessions, store, ids } = bench();
    const { id } = await sessions.create(agent);
    await expect(sessions.cancel(id)).rejects.toMatchObject({ code: "not_running" });
    await createScript({ store, ids, sessionId: id }).toolTurn("hi");
    const runId = (await sessions.runs(id)).items[0]?.id ?? "";
    await expect(sessions.cancel(id, { runId })).rejects.toMatchObject({ code: "not_running" });
  });
});

describe("answer", () => {
  test("an answer to an open await is stored", async () => {
    const { sessions, id } = await awaiting();
    const { disposition, sequence } = await sessions.answer(id, "t1", { content: "yes" });
    expect(disposition).toBe("accepted");
    const kept = (await sessions.events(id)).at(-1);
    expect(kept).toMatchObject({
      event_type: "await.answered",
      data: { tool_use_id: "t1", is_error: false },
      sequence,
    });
  });

  test("a second answer is a duplicate, and is not stored", async () => {
    const { sessions, id } = await awaiting();
    const answers = await Promise.all(["yes", "no"].map((content) => sessions.answer(id, "t1", { content })));
    expect(answers.map(({ disposition }) => disposition).toSorted()).toEqual(["accepted", "duplicate"]);
    const kept = (await sessions.events(id)).filter(({ event_type }) => event_type === "await.answered");
    expect(kept).toHaveLength(1);
  });

  test("an answer to an unknown call is refused", async () => {
    const { sessions, id } = await awaiting();
    expect(await sessions.answer(id, "t2", { content: "" })).toMatchObject({ disposition: "refused" });
  });

  test("an answer to an await that has timed out is stale", async () => {
    const { sessions, id, runId, script, lease } = await awaiting();
    const data = { run_id: runId, step: 1, tool_use_id: "t1", resolution: "timed_out" as const, waited_ms: 1 };
    await script.append([{ event_type: "await.resolved", data }], { lease });
    expect(await sessions.answer(id, "t1", { content: "" })).toMatchObject({ disposition: "stale" });
  });

  test("an answer with invalid content is rejected", async () => {
    const { sessions, id } = await awaiting();
    const answer = sessions.answer(id, "t1", { content: 5 as unknown as string });
    await expect(answer).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("edit", () => {
  test("edit changes only the given fields", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent, { title: "T", tags: ["a"], metadata: { k: 1 } });
    expect(await sessions.edit(id, { tags: ["b"] })).toMatchObject({ title: "T", tags: ["b"], metadata: { k: 1 } });
    expect(await sessions.edit(id, { title: null, modelId: nobody })).toMatchObject({ title: null, model_id: nobody });
    expect((await sessions.list({ tags: ["a"] })).items).toEqual([]);
  });

  test("an edit does not make the session due", async () => {
    const { sessions, store } = bench();
    const { id } = await sessions.create(agent);
    await sessions.edit(id, { title: "T" });
    expect(await store.claim({ owner: "w", leaseMs: 1000 })).toEqual({ kind: "none", nextAt: null });
  });

  test("edit rejects unknown fields", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const edited = sessions.edit(id, { status: "completed" } as Record<string, unknown>);
    await expect(edited).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("status") });
  });
});

test("every operation on a session of another tenant fails with not_found", async () => {
  const { sessions, store, ids } = bench("acme");
  const { id } = await sessions.create(agent);
  const others = createSessions({ store, ids, tenant: "other" });
  const tries: (() => Promise<unknown>)[] = [
    () => others.get(id),
    () => others.prompt(id, "hi"),
    () => others.cancel(id),
    () => others.answer(id, "t", { content: "" }),
    () => others.edit(id, { title: "T" }),
    () => others.fork(id),
    () => others.delete(id),
    () => others.messages(id),
    () => others.transcript(id),
    () => others.runs(id),
    () => others.events(id),
    () => others.state(id),
    () => others.follow(id, {}, AbortSignal.abort())[Symbol.asyncIterator]().next(),
  ];
  for (const tried of tries) await expect(tried()).rejects.toMatchObject({ code: "not_found" });
  expect((await others.list()).items).toEqual([]);
  expect(await sessions.events(id)).toHaveLength(1);
});

test("an unknown session is not found", async () => {
  const { sessions } = bench();
  await expect(sessions.get(nobody)).rejects.toMatchObject({
    code: "not_found",
    message: `There is no session ${nobody}.`,
  });
  await expect(sessions.prompt(nobody, "hi")).rejects.toMatchObject({ code: "not_found" });
});

test("the state is folded from a snapshot, or from the start if the snapshot's version is old", async () => {
  const { sessions, store, ids } = bench();
  const { id } = await sessions.create(agent);
  await createScript({ store, ids, sessionId: id }).toolTurn("hi");
  const whole = await sessions.state(id);
  const snapshot = snapshotOf(whole);
  await sessions.prompt(id, "more");
  await store.writeSnapshot(id, snapshot);
  expect((await sessions.state(id)).queue).toHaveLength(1);
  await store.writeSnapshot(id, { ...snapshot, version: 0, state: "{}" });
  expect((await sessions.state(id)).transcript).toEqual(whole.transcript);
});

test("a deleted session no longer exists", async () => {
  const { sessions } = bench();
  const { id } = await sessions.create(agent);
  await sessions.delete(id);
  await expect(sessions.get(id)).rejects.toMatchObject({ code: "not_found" });
  await expect(sessions.delete(id)).rejects.toMatchObject({ code: "not_found" });
});

describe("a prompt for an idle session only", () => {
  test("a prompt for an idle session is accepted, and exactly one of several concurrent prompts is accepted", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const tried = await Promise.allSettled(
      ["a", "b", "c"].map((content) => sessions.prompt(id, { content, whenIdle: true })),
    );
    expect(tried.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await sessions.state(id)).queue).toHaveLength(1);
    const refused = tried.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(refused).toMatchObject([{ code: "conflict" }, { code: "conflict" }]);
  });

  test("a prompt for an idle session is rejected if another prompt was accepted since the caller read the session", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const { sequence: seenAt } = await sessions.state(id);
    await sessions.prompt(id, { content: "a", whenIdle: { seenAt } });
    const late = sessions.prompt(id, { content: "b", whenIdle: { seenAt } });
    await expect(late).rejects.toMatchObject({ code: "conflict" });
  });

  test("a repeated prompt with whenIdle and the same key gets the same response, even while the first prompt waits in the queue", async () => {
    const { sessions } = bench();
    const { id } = await sessions.create(agent);
    const key = { id: "k", fingerprint: "f" };
    const first = await sessions.prompt(id, { content: "a", whenIdle: true }, key);
    const again = await sessions.prompt(id, { content: "a", whenIdle: true }, key);
    expect(again).toEqual({ ...first, repeated: true });
  });
});

test("options of a run, a change of mode and a rewind are in the log", async () => {
  const { sessions } = bench();
  const { id } = await sessions.create(agent);
  await sessions.prompt(id, { content: "a", options: { max_turns: 1 } });
  await sessions.control(id, { permissionMode: "plan" });
  const checkpoint = { id: nobody, session_id: id, user_message_uuid: "u", files_modified: [], created_at: "" };
  const asked = await sessions.rewind(id, checkpoint, { dryRun: true });
  expect((await sessions.events(id)).slice(1).map(({ event_type, data }) => [event_type, data])).toMatchObject([
    ["prompt.accepted", { options: { max_turns: 1 } }],
    ["control.requested", { permission_mode: "plan", model: null }],
    ["rewind.requested", { rewind_id: asked.id, checkpoint_id: nobody, user_message_uuid: "u", dry_run: true }],
  ]);
});
