import type { Fact, UsageRow } from "@skein/protocol";
import { expect, test } from "vitest";
import { createSessions } from "../sessions/sessions.ts";
import { addedUsage, countedTools } from "../sessions/usage.ts";
import type { ToolUsageQuery } from "../ports/store.ts";
import type { StoreFixture } from "./store-fixture.ts";
import { pages } from "./projection-contract.ts";
import { createScript, playSearches, scriptedAgent } from "./script.ts";

const agent = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active" as const,
  config: scriptedAgent,
};

/** Tests lists and counts of sessions, and the sums of the usage of runs and tool calls. */
export function describeLists(fixture: () => StoreFixture): void {
  test("a store filters sessions by agent, status, tag, date, parent of a fork and caller of a subagent, and lists the newest first", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const plain = await sessions.create(agent);
    const tagged = await sessions.create({ ...agent, id: ids() }, { tags: ["blue", "green"], title: "tagged" });
    const child = await sessions.create(agent, { subagentOf: { session_id: plain.id, tool_use_id: "t" } });
    const done = fixture().script();
    await done.create();
    await done.toolTurn("hi");
    const fork = await sessions.fork(done.sessionId);
    const busy = await sessions.create(agent);
    const script = createScript({ store, ids, sessionId: busy.id });
    const { runId, messageId } = await script.prompt("hi");
    const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" };
    await script.append([{ event_type: "session.started", data: started }], { lease: await script.claim() });
    await fixture().created({ tenant: "other" });

    const listed = async (query: Parameters<typeof sessions.list>[0]) =>
      (await sessions.list(query)).items.map(({ id }) => id);
    expect(await listed({})).toEqual([busy.id, fork.id, done.sessionId, child.id, tagged.id, plain.id]);
    expect(await listed({ tags: ["green"] })).toEqual([tagged.id]);
    expect(await listed({ tags: ["gree"] })).toEqual([]);
    expect(await listed({ agentId: tagged.agent_id })).toEqual([tagged.id]);
    expect(await listed({ status: "running" })).toEqual([busy.id]);
    expect(await listed({ status: "completed" })).toEqual([done.sessionId]);
    expect(await listed({ status: "pending" })).toEqual([fork.id, child.id, tagged.id, plain.id]);
    expect(await listed({ status: "failed" })).toEqual([]);
    expect(await listed({ parentSessionId: done.sessionId })).toEqual([fork.id]);
    expect(await listed({ subagentOfSessionId: plain.id })).toEqual([child.id]);
    expect(await listed({ createdAfter: "2999-01-01T00:00:00.000Z" })).toEqual([]);
    expect(await listed({ createdBefore: "2999-01-01T00:00:00.000Z", status: "completed" })).toEqual([done.sessionId]);
    const paged = await pages((options) => sessions.list(options));
    expect(paged.map(({ id }) => id)).toEqual([busy.id, fork.id, done.sessionId, child.id, tagged.id, plain.id]);
  });

  test("a store finds and counts sessions by several tags, metadata, title, folder and states in one query", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const of = async (options: Parameters<typeof sessions.create>[1]): Promise<string> =>
      (await sessions.create(agent, options)).id;
    const plain = await of({});
    const first = await of({
      tags: ["blue", "green"],
      title: "Ärger with 100%",
      workingDirectory: "/srv/a",
      metadata: { user: "ada", level: 3, on: true, off: null, deep: { user: "bob" }, ["x".repeat(70)]: "y" },
    });
    const second = await of({ tags: ["green"], title: "No trouble", metadata: { user: "ada", level: "3" } });
    const odd = await of({ metadata: { user: "odd", ["k\0"]: "\ud800", nul: "a\0b", path: "C:\\u0000" } });
    const third = await of({ tags: ["green", "blue", "red"], workingDirectory: "/srv/a", metadata: { user: "bob" } });
    const others = createSessions({ store, ids, tenant: "other" });
    await others.create(agent, { tags: ["green"], metadata: { user: "ada" }, workingDirectory: "/srv/a" });

    const cases: readonly [Parameters<typeof sessions.count>[0], readonly string[]][] = [
      [{}, [third, odd, second, first, plain]],
      [{ tags: [] }, [third, odd, second, first, plain]],
      [{ tags: ["green", "blue"] }, [third, first]],
      [{ tags: ["green", "none"] }, []],
      [{ metadata: [["user", "ada"]] }, [second, first]],
      [{ metadata: [["user", "bob"]] }, [third]],
      [{ metadata: [["level", "3"]] }, [second, first]],
      [
        {
          metadata: [
            ["on", "true"],
            ["off", "null"],
          ],
        },
        [first],
      ],
      [{ metadata: [["deep", '{"user":"bob"}']] }, []],
      [
        {
          metadata: [
            ["user", "ada"],
            ["user", "bob"],
          ],
        },
        [],
      ],
      [{ metadata: [["x".repeat(70), "y"]] }, []],
      [{ metadata: [["user", "ada"]], tags: ["blue"] }, [first]],
      [{ metadata: [["user", "a\0da"]] }, []],
      [{ metadata: [["user", "odd"]] }, [odd]],
      [{ metadata: [["nul", "a\0b"]] }, [odd]],
      [{ title: "ärger WITH" }, [first]],
      [{ title: "%" }, [first]],
      [{ title: "trouble", metadata: [["user", "ada"]] }, [second]],
      [{ workingDirectory: "/srv/a" }, [third, first]],
      [{ workingDirectory: null, agentId: agent.id }, [odd, second, plain]],
      [{ status: ["pending", "running"], tags: ["blue"] }, [third, first]],
      [{ status: ["completed", "failed"] }, []],
      [{ agentId: ids(), metadata: [["user", "ada"]] }, []],
    ];
    for (const [filter, expected] of cases) {
      const { items } = await sessions.list(filter);
      expect([filter, items.map(({ id }) => id)]).toEqual([filter, expected]);
      expect([filter, await sessions.count(filter)]).toEqual([filter, expected.length]);
    }
    const rest = await sessions.list({ offset: 1, limit: 2 });
    expect(rest.items.map(({ id }) => id)).toEqual([odd, second]);
    expect((await sessions.list({ cursor: rest.cursor ?? "" })).items.map(({ id }) => id)).toEqual([first, plain]);

    await sessions.edit(first, { metadata: { user: "eve" }, tags: ["blue"], title: "Peace" });
    await sessions.delete(second);
    expect(await sessions.count({ metadata: [["user", "ada"]] })).toBe(0);
    expect((await sessions.list({ metadata: [["user", "eve"]], title: "peace" })).items).toMatchObject([{ id: first }]);
    expect(await sessions.count({ metadata: [["level", "3"]] })).toBe(0);
    expect(await sessions.count({ tags: ["green"] })).toBe(1);
  });

  test("a store lists sessions by their last run, the latest first, page by page", async () => {
    const { store, ids } = fixture();
    const sessions = createSessions({ store, ids });
    const begun = async (): Promise<string> =>
      (await sessions.create(agent, { workingDirectory: "/srv/a", tags: ["blue"] })).id;
    const made = [await begun(), await begun(), await begun()] as const;
    const elsewhere = await sessions.create(agent);
    // If both sessions had the same time, the session with the greater id would come first.
    while (Date.now() <= Date.parse(elsewhere.created_at)) await new Promise((resolve) => void setTimeout(resolve, 1));
    const script = createScript({ store, ids, sessionId: made[0] });
    const { runId, messageId } = await script.prompt("hi");
    const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" };
    await script.append([{ event_type: "session.started", data: started }], { lease: await script.claim() });
    const expected = [made[0], made[2], made[1]];
    for (const query of [
      { workingDirectory: "/srv/a", agentId: agent.id },
      { tags: ["blue"] },
      { workingDirectory: "/srv/a" },
    ]) {
      const used = await pages((options) => sessions.list({ ...query, ...options, order: "used" }));
      expect(used.map(({ id }) => id)).toEqual(expected);
    }
    const [latest] = (await sessions.list({ agentId: agent.id, workingDirectory: null, order: "used", limit: 1 }))
      .items;
    expect(latest?.id).toBe(elsewhere.id);
  });

  test("runs and tool calls of an imported session count on the day on which they happened", async () => {
    const { store, ids } = fixture();
    const live = await fixture().created();
    await live.toolTurn("today");
    const then = "2026-05-04T23:50:00.000Z";
    const adopted = createScript({ store, ids, happenedAt: then });
    await adopted.create();
    await adopted.toolTurn("months ago");
    const today = (await store.read(live.sessionId)).at(-1)?.created_at.slice(0, 10);

    const counted = async (query: Omit<ToolUsageQuery, "tenant">) => {
      const asked = { tenant: "default", ...query };
      const runs = await store.usage({ ...asked, by: "day" });
      const tools = await store.toolUsage(asked);
      return {
        runs: runs.map(({ key, runs: count }) => `${key} ${count}`).sort(),
        calls: tools.map(({ day, calls }) => `${day} ${calls}`).sort(),
      };
    };
    const expected: readonly [Omit<ToolUsageQuery, "tenant">, readonly string[]][] = [
      [{}, ["2026-05-04 1", `${today} 1`]],
      [{ sessionId: adopted.sessionId }, ["2026-05-04 1"]],
      [{ shifts: [{ until: null, minutes: 30 }], to: "2026-06-01T00:00:00.000Z" }, ["2026-05-05 1"]],
      [{ shifts: [{ until: null, minutes: 11 }], to: "2026-06-01T00:00:00.000Z" }, ["2026-05-05 1"]],
      [{ from: "2026-05-04T00:00:00.000Z", to: "2026-05-05T00:00:00.000Z" }, ["2026-05-04 1"]],
      [{ from: then, to: "2026-05-04T23:50:00.001Z" }, ["2026-05-04 1"]],
      [{ from: "2026-05-04T23:50:00.001Z" }, [`${today} 1`]],
      [{ to: then }, []],
    ];
    for (const [query, rows] of expected)
      expect([query, await counted(query)]).toEqual([query, { runs: rows, calls: rows }]);
  });

  test("the run of an imported session lists its generated files like every other run", async () => {
    const { store, ids } = fixture();
    const imported = createScript({ store, ids, happenedAt: "2026-05-04T23:50:00.000Z" });
    await imported.create();
    const { runId, messageId } = await imported.prompt("make a file");
    const file = {
      file_id: "f",
      filename: "a.txt",
      storage_path: "files/a.txt",
      size: 1,
      mime_type: "text/plain",
      step: 1,
    };
    const started = { run_id: runId, message_id: messageId, user_message: "make a file", formatter: "json" };
    await imported.append(
      [
        { event_type: "session.started", data: started },
        { event_type: "file.stored", data: { run_id: runId, ...file, duration_ms: 1 } },
      ],
      { lease: await imported.claim() },
    );
    const [run] = (await store.runs(imported.sessionId)).items;
    expect(run?.generated_files).toEqual([{ ...file, timestamp: expect.any(String) }]);
  });

  test("a tool call is counted whatever its result contains, even NUL or half of a surrogate pair", async () => {
    const { store } = fixture();
    const script = await fixture().created();
    await script.toolTurn("read a binary file", "a\0b \ud800");
    const asked = { tenant: "default", sessionId: script.sessionId };
    for (const query of [asked, { tenant: "default" }])
      expect(await store.toolUsage(query)).toEqual([expect.objectContaining({ tool: "search", calls: 1, failed: 0 })]);
  });

  test("the cost of a run has a part for server tools, and all parts of the cost add up to the total", async () => {
    const script = await fixture().created();
    await playSearches(script);
    const { items } = await fixture().store.runs(script.sessionId);
    expect(items[0]?.cost).toMatchObject({
      input_cost: 0.003,
      output_cost: 0.0015,
      server_tool_cost: 0.03,
      total_cost: 0.0345,
    });
  });

  test("a store adds up the usage of runs by day, model, agent and session, between two times", async () => {
    const { store, ids } = fixture();
    const done = await fixture().created();
    await done.toolTurn("one");
    // The two runs begin at different times, even if the store is faster than a millisecond.
    for (const ended = Date.now(); Date.now() === ended;) await new Promise((resolve) => setTimeout(resolve, 1));
    await done.toolTurn("two");
    const other = await createSessions({ store, ids }).create({ ...agent, id: ids() }, { openedBy: "ci" });
    await createScript({ store, ids, sessionId: other.id }).toolTurn("three");
    const waiting = await fixture().created();
    const { runId, messageId } = await waiting.prompt("not answered yet");
    const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" };
    await waiting.append([{ event_type: "session.started", data: started }], { lease: await waiting.claim() });
    const several = await fixture().created();
    const turn = await several.prompt("two models, one of them twice");
    const lease = await several.claim();
    await several.append(
      [
        {
          event_type: "session.started",
          data: { run_id: turn.runId, message_id: turn.messageId, user_message: "hi", formatter: "json" },
        },
        abandoned(turn.runId, "claude-b", 1),
      ],
      { lease },
    );
    await several.append([abandoned(turn.runId, "claude-a", 2), abandoned(turn.runId, "claude-b", 4)], { lease });
    const foreign = await fixture().created({ tenant: "other" });
    await foreign.prompt("of another tenant");

    const [later, earlier] = (await store.runs(done.sessionId)).items;
    const bounds = { from: earlier?.started_at ?? "", to: later?.started_at ?? "" };
    // The clocks of this time zone go forward by two days between the two runs.
    const shifts = [
      { until: bounds.to, minutes: -1440 },
      { until: null, minutes: 1440 },
    ];
    for (const by of ["day", "model", "agent", "session", "project", "key"] as const)
      for (const query of [
        {},
        { shifts },
        { agentId: other.agent_id },
        bounds,
        { to: bounds.from },
        { from: "2999-01-01T00:00:00.000Z" },
      ]) {
        const asked = { tenant: "default", by, ...query };
        expect(sorted(await store.usage(asked))).toEqual(sorted(await addedUsage(store, asked)));
        const tools = (await store.toolUsage(asked)).toSorted((a, b) => (a.day < b.day ? -1 : 1));
        expect(tools).toEqual((await countedTools(store, asked)).toSorted((a, b) => (a.day < b.day ? -1 : 1)));
      }
    const called = await store.toolUsage({ tenant: "default", sessionId: done.sessionId });
    expect(called).toEqual([expect.objectContaining({ tool: "search", calls: 2, failed: 0, unknown: 0 })]);
    const shifted = await store.usage({ tenant: "default", by: "day", sessionId: done.sessionId, shifts });
    expect(shifted.map(({ runs }) => runs)).toEqual([1, 1]);
    const byKey = await store.usage({ tenant: "default", by: "key" });
    expect(new Map(byKey.map(({ key, runs }) => [key, runs]))).toEqual(
      new Map([
        ["ci", 1],
        ["", 4],
      ]),
    );
    // The usage grouped by two fields, and the usage of one session.
    const both = [
      { by: "day", secondKey: "model" },
      { by: "day", secondKey: "key", shifts },
      { by: "session", secondKey: "agent" },
    ] as const;
    for (const keys of both)
      for (const one of [
        {},
        { sessionId: several.sessionId },
        { sessionId: several.sessionId, agentId: other.agent_id },
      ]) {
        const asked = { tenant: "default", ...keys, ...one };
        expect(sorted(await store.usage(asked))).toEqual(sorted(await addedUsage(store, asked)));
      }
    const ofOne = await store.usage({ tenant: "default", by: "day", secondKey: "model", sessionId: several.sessionId });
    const today = new Date().toISOString().slice(0, 4);
    expect(
      sorted(ofOne).map(({ key, second_key, output_tokens }) => [key.slice(0, 4), second_key, output_tokens]),
    ).toEqual([
      [today, "claude-a", 20],
      [today, "claude-b", 50],
    ]);
    const of = (model: string, tokens: number, calls: number) => ({
      model,
      input_tokens: tokens,
      output_tokens: 10 * tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cost_micros: 0,
      unpriced_calls: calls,
    });
    const [run] = (await store.runs(several.sessionId)).items;
    expect(run).toMatchObject({ models: [of("claude-a", 2, 1), of("claude-b", 5, 2)], unpriced_calls: 3 });
    const bySession = sorted(await store.usage({ tenant: "default", by: "session" }));
    expect(new Map(bySession.map(({ key, runs }) => [key, runs]))).toEqual(
      new Map([
        [done.sessionId, 2],
        [other.id, 1],
        [waiting.sessionId, 1],
        [several.sessionId, 1],
      ]),
    );
    expect(bySession.some(({ output_tokens }) => output_tokens > 0)).toBe(true);
    expect(await store.usage({ tenant: "nobody", by: "day" })).toEqual([]);
  });
}

function abandoned(runId: string, model: string, tokens: number): Fact {
  const usage = { input_tokens: tokens, output_tokens: 10 * tokens };
  return { event_type: "step.abandoned", data: { run_id: runId, step: 1, model, usage, cost: null } };
}

function sorted(rows: readonly UsageRow[]): readonly UsageRow[] {
  const place = ({ key, second_key = "" }: UsageRow): string => `${key} ${second_key}`;
  return rows.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}
