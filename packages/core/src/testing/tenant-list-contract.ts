import type { Await } from "@skein/protocol";
import { expect, test } from "vitest";
import type { Page } from "../ports/store.ts";
import { createSessions } from "../sessions/sessions.ts";
import { type StoreFixture, type StoreExceptions, withReason } from "./store-fixture.ts";
import { pages } from "./projection-contract.ts";
import { type Script, createScript, scriptedAgent } from "./script.ts";

const agent = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active" as const,
  config: scriptedAgent,
};

/**
 * Tests the lists that cover all sessions of a tenant, for example changed sessions and open awaits (tool calls that
 * wait for a person or client).
 */
export function describeTenantLists(fixture: () => StoreFixture, cannot: StoreExceptions): void {
  test("a store lists open awaits of all running sessions of a tenant, oldest first, by kind and agent", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const asking = async (agentId: string, awaits: readonly (readonly [string, Await["kind"]])[]) => {
      const { id } = await sessions.create({ ...agent, id: agentId });
      const script = createScript({ store, ids, sessionId: id });
      return { ...script, lease: await open(script, ids(), awaits) };
    };
    const other = ids();
    const first = await asking(agent.id, [
      ["t1", "question"],
      ["t2", "approval"],
    ]);
    const second = await asking(other, [["t1", "subagent"]]);
    const third = await asking(agent.id, [["t3\0", "frontend_tool"]]);
    const foreign = await fixture().created({ tenant: "other" });
    await open(foreign, ids(), [["t1", "question"]]);
    await fixture().created();

    const names = (page: Page<Await>): string[] => page.items.map((one) => `${one.session_id} ${one.tool_use_id}`);
    const [one, two, three] = [first.sessionId, second.sessionId, third.sessionId];
    const tenant = "default";
    const all = [`${one} t1`, `${one} t2`, `${two} t1`, `${three} t3\0`];
    expect(names(await store.openAwaits({ tenant }))).toEqual(all);
    expect(names(await store.openAwaits({ tenant, kinds: ["question", "frontend_tool"] }))).toEqual([all[0], all[3]]);
    expect(names(await store.openAwaits({ tenant, kinds: [] }))).toEqual([]);
    expect(names(await store.openAwaits({ tenant, agentId: other }))).toEqual([all[2]]);
    expect(names(await store.openAwaits({ tenant: "nobody" }))).toEqual([]);
    const paged = await pages((options) => store.openAwaits({ tenant, ...options }));
    expect(paged.map((open) => `${open.session_id} ${open.tool_use_id}`)).toEqual(all);
    expect(await store.openAwaits({ tenant, limit: 2 })).toMatchObject({ items: await store.awaits(one) });

    const { lease } = first;
    const resolved = { run_id: ids(), step: 1, tool_use_id: "t1", resolution: "answered" as const, waited_ms: 5 };
    await first.append([{ event_type: "await.resolved", data: resolved }], { lease });
    expect(names(await store.openAwaits({ tenant }))).toEqual(all.slice(1));
    await store.delete(two);
    expect(names(await store.openAwaits({ tenant }))).toEqual([all[1], all[3]]);
  });

  test("an idle session has no open awaits, even if its last run left awaits open", async () => {
    const { store, ids } = fixture();
    const script = await fixture().created();
    const run_id = ids();
    const lease = await open(script, run_id, [["t1", "question"]]);
    const usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const failed = {
      run_id,
      step: 1,
      outcome: "failed" as const,
      stop_reason: "error" as const,
      error: { code: "x", message: "x" },
      usage,
      cost_micros: 0,
      unpriced_calls: 0,
      files_generated: 0,
      duration_ms: 1,
    };
    await script.append([{ event_type: "session.failed", data: failed }], { lease });
    expect((await store.openAwaits({ tenant: "default" })).items).toEqual([]);
  });

  test("a store lists sessions in the order of their last event, with the last sequence of their log", async () => {
    const { store } = fixture();
    const made = [await fixture().created(), await fixture().created(), await fixture().created()] as const;
    const foreign = await fixture().created({ tenant: "other" });
    const [a, b, c] = made.map(({ sessionId }) => sessionId) as [string, string, string];
    await later();
    await made[0].toolTurn("hi");
    await later();
    const tenant = "default";
    const first = await store.changed({ tenant });
    const ends = await Promise.all([b, c, a].map(async (id) => (await store.read(id)).length));
    expect(first.items.map(({ session }) => session.id).sort()).toEqual([a, b, c].sort());
    expect(first.items.at(-1)).toEqual({ session: await store.get(a), lastSequence: ends[2] });
    expect(first.items.find(({ session }) => session.id === b)?.lastSequence).toBe(ends[0]);
    const paged = await pages((options) => store.changed({ tenant, ...options }));
    expect(paged).toEqual(first.items);

    const since = (await store.get(a))?.updated_at ?? "";
    const ids = async (query: Parameters<typeof store.changed>[0]): Promise<string[]> =>
      (await store.changed(query)).items.map(({ session }) => session.id);
    expect(await ids({ tenant, since })).toEqual([a]);
    expect(await ids({ tenant, since: "2999-01-01T00:00:00.000Z" })).toEqual([]);
    await later();
    await made[1].prompt("hi");
    expect(await ids({ tenant, since })).toEqual([a, b]);
    expect(await ids({ tenant, sessionIds: [b, c, foreign.sessionId, "none"] })).toEqual([c, b]);
    expect(await ids({ tenant, sessionIds: [c, b], since })).toEqual([b]);
    expect(await ids({ tenant, sessionIds: [] })).toEqual([]);
    expect(await ids({ tenant, agentId: agent.id })).toHaveLength(3);
    expect(await ids({ tenant, agentId: a })).toEqual([]);
    await store.delete(b);
    expect(await ids({ tenant, since })).toEqual([a]);
  });

  test("summaries of sessions have the last message and the kinds of open awaits", async () => {
    const { store, ids } = fixture();
    const empty = await fixture().created();
    const said = await fixture().created();
    await said.toolTurn("hi");
    const long = await fixture().created();
    const text = `\u0001"\\\ud800${"ä".repeat(300)}`;
    const copied = { message_id: ids(), role: "assistant" as const, content: [{ type: "text", text }] };
    await long.append([{ event_type: "message.copied", data: copied }]);
    const waiting = await fixture().created();
    await open(waiting, ids(), [
      ["t1", "question"],
      ["t2", "question"],
      ["t3", "approval"],
    ]);
    const foreign = await fixture().created({ tenant: "other" });
    const asked = [empty, said, long, waiting, foreign].map(({ sessionId }) => sessionId);
    const found = await store.summaries("default", [...asked, "none", ids()]);
    const of = (script: Script) => found.find(({ sessionId }) => sessionId === script.sessionId);
    expect(found).toHaveLength(4);
    expect(of(empty)).toEqual({ sessionId: empty.sessionId, lastMessage: null, openAwaits: [] });
    expect(of(waiting)?.openAwaits.toSorted()).toEqual(["approval", "question", "question"]);
    const rows = (await store.messages(said.sessionId, { limit: 100 })).items;
    const last = rows.findLast(({ role }) => role === "assistant" || role === "user");
    const shown = { role: last?.role, text: last?.content["text"], created_at: last?.created_at };
    expect(of(said)?.lastMessage).toEqual(shown);
    expect(of(long)?.lastMessage?.text).toBe(text.slice(0, 200));
    expect(await store.summaries("default", [])).toEqual([]);
  });

  test("a store finds texts of messages and tool calls in the sessions of a tenant, latest messages first", async () => {
    const { store } = fixture();
    const said = await fixture().created();
    await said.toolTurn('Grüße, "quoted" \\ 100% _x_');
    const other = await fixture().created();
    await other.toolTurn("nothing of it");
    const foreign = await fixture().created({ tenant: "other" });
    await foreign.toolTurn("Grüße");
    const all = [said, other, foreign].map(({ sessionId }) => sessionId);
    const rows = (await store.messages(said.sessionId, { limit: 100 })).items;
    const found = await store.search("default", [...all, "none"], "GRÜßE");
    const place = (of: "user" | "tool_call") => ({
      sessionId: said.sessionId,
      role: of,
      sequence: expect.any(Number) as number,
      created_at: rows.find(({ role }) => role === of)?.created_at,
      json: expect.stringContaining("Grüße") as string,
    });
    expect(found).toEqual([place("tool_call"), place("user")]);
    for (const text of ['"QUOTED" \\ 100% _X', "00% _x_"])
      expect(new Set((await store.search("default", all, text)).map(({ sessionId }) => sessionId))).toEqual(
        new Set([said.sessionId]),
      );
    for (const text of ["100%%", "quoted.", "x".repeat(200)])
      expect(await store.search("default", all, text)).toEqual([]);
    expect(await store.search("default", [], "Grüße")).toEqual([]);
    // Each message is one match, latest first. Matches in field names are included.
    const places = (await store.search("default", all, "text")).filter(({ sessionId }) => sessionId === said.sessionId);
    expect(places.map(({ created_at }) => created_at)).toEqual(
      places
        .map(({ created_at }) => created_at)
        .toSorted()
        .toReversed(),
    );
    expect(places.length).toBeGreaterThan(1);
  });

  test("a store lists sessions by cost and by title, page by page", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const untitled = await fixture().created();
    await untitled.toolTurn("hi");
    const titled = [];
    for (const title of ["beta", "Alpha", "gamma 2"]) titled.push((await sessions.create(agent, { title })).id);
    const [beta, alpha, gamma] = titled;
    const listed = async (order: "cost" | "title") =>
      (await pages((options) => sessions.list({ order, ...options }))).map(({ id }) => id);
    expect(await listed("title")).toEqual([alpha, beta, gamma, untitled.sessionId]);
    expect((await listed("cost")).toSorted()).toEqual([...titled, untitled.sessionId].toSorted());
    const costs = (await sessions.list({ order: "cost" })).items.map(({ cost_picos }) => BigInt(cost_picos));
    expect(costs).toEqual(costs.toSorted((a, b) => (a < b ? 1 : -1)));
    expect((await sessions.list({ order: "title", offset: 1, limit: 1 })).items.map(({ id }) => id)).toEqual([beta]);
    await expect(sessions.list({ order: "cost", cursor: "x" })).rejects.toMatchObject({ code: "invalid" });
  });

  test("a store filters sessions by activity, outcome and model, leaves out subagents, and sorts by the last run", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const first = await fixture().created();
    const idle = await sessions.create(agent);
    const child = await sessions.create(agent, { subagentOf: { session_id: idle.id, tool_use_id: "t" } });
    const waiting = await fixture().created();
    await open(waiting, ids(), [["t1", "question"]]);
    await later();
    await first.toolTurn("hi");
    const listed = async (query: Parameters<typeof sessions.list>[0]) =>
      (await sessions.list(query)).items.map(({ id }) => id);
    expect(await listed({ activity: "awaiting" })).toEqual([waiting.sessionId]);
    expect(await listed({ activity: "running" })).toEqual([]);
    expect(await listed({ activity: "idle" })).toEqual([child.id, idle.id, first.sessionId]);
    expect(await listed({ activity: "idle", topLevel: true })).toEqual([idle.id, first.sessionId]);
    expect(await sessions.count({ topLevel: true })).toBe(3);
    expect(await listed({ outcome: "completed" })).toEqual([first.sessionId]);
    expect(await sessions.count({ outcome: "failed" })).toBe(0);
    expect(await listed({ model: agent.config.model, activity: "awaiting" })).toEqual([waiting.sessionId]);
    expect(await sessions.count({ model: "another-model" })).toBe(0);
    const used = [first.sessionId, waiting.sessionId, child.id, idle.id];
    expect(await listed({ order: "used" })).toEqual(used);
    const paged = await pages((options) => sessions.list({ order: "used", ...options }));
    expect(paged.map(({ id }) => id)).toEqual(used);
  });

  test("a store lists sessions with a tool call whose effect is unknown", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const certain = await fixture().created();
    await certain.toolTurn("hi");
    const lost = await fixture().created();
    await lost.toolTurn("hi");
    expect(await sessions.get(lost.sessionId)).toMatchObject({ has_unknown_effect: false });
    await loseResult(lost, ids);
    expect(await sessions.get(lost.sessionId)).toMatchObject({ has_unknown_effect: true });
    for (const order of ["begun", "used", "cost"] as const) {
      const { items } = await sessions.list({ order, hasUnknownEffect: true });
      expect(items.map(({ id }) => id)).toEqual([lost.sessionId]);
    }
    expect(await sessions.count({ hasUnknownEffect: true })).toBe(1);
    expect(await sessions.count({})).toBe(2);
  });

  test.skipIf(cannot.another)(withReason("a store shows what another process changed", cannot.another), async () => {
    const { store, ids } = fixture();
    const script = await fixture().created();
    const other = await fixture().another();
    const [{ lastSequence } = { lastSequence: 0 }] = (await store.changed({ tenant: "default" })).items;
    await open(createScript({ store: other, ids, sessionId: script.sessionId }), ids(), [["t1", "question"]]);
    expect((await store.changed({ tenant: "default" })).items[0]?.lastSequence).toBe(lastSequence + 1);
    expect((await store.openAwaits({ tenant: "default" })).items).toHaveLength(1);
  });
}

/** Opens awaits in a session. Returns the session's lease. */
async function open(script: Script, run_id: string, awaits: readonly (readonly [string, Await["kind"]])[]) {
  const lease = await script.claim();
  const opened = awaits.map(([tool_use_id, kind]) => ({
    tool_use_id,
    kind,
    name: "Ask",
    input: { text: "a\0b" },
    expires_at: null,
    session_id: null,
  }));
  await script.append([{ event_type: "await.opened", data: { run_id, step: 1, awaits: opened } }], { lease });
  return lease;
}

/** Stores a tool call whose effect is unknown. */
async function loseResult(script: Script, ids: () => string): Promise<void> {
  const lease = await script.claim();
  const call = { run_id: ids(), step: 1, tool_use_id: "lost", name: "Pay", input: {}, message_id: ids(), part: 0 };
  const end = { outcome: "unknown", content: "", is_error: true, duration_ms: 0 } as const;
  await script.append([{ event_type: "tool.completed", data: { ...call, ...end } }], { lease });
}

/** Waits until the clock shows another millisecond. */
function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
