import { join } from "node:path";
import { createAgents } from "@skein/core";
import type { ActionLog, Run, UsageRow } from "@skein/protocol";
import { createAgent, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { openStore } from "../../../../skein/src/open-store.ts";
import { finished, folder, say, scripted, session, settled, testServer } from "../../world.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const NOBODY = "00000000-0000-7000-8000-000000000000";
const pick = { name: "pick", description: "Lets a person pick.", input_schema: { type: "object" } };

test("a message uses its model, the model of its session, the model of its agent or the default, in this order", async () => {
  const { call } = await testServer();
  const { body: fallback } = await call("POST", "/v1/models", { name: "claude-haiku-4-5", is_default: true });
  const { body: ofAgent } = await call("POST", "/v1/models", { name: "claude-sonnet-4-5" });
  const { body: ofSession } = await call("POST", "/v1/models", { name: "claude-opus-4-5" });
  expect((await call("GET", "/v1/models")).body.data).toHaveLength(3);
  const used = async (agent: Record<string, unknown>, model_id: string | null, own?: string): Promise<unknown> => {
    const { body: made } = await call("POST", "/v1/agents", { name: "A", ...agent });
    const { body } = await call("POST", `/v1/agents/${made.id}/sessions`, { model_id });
    const path = `/v1/sessions/${body.id}`;
    await say(call, path, "Hello.", own === undefined ? {} : { model_id: own });
    await settled(call, path);
    const events = (await call("GET", `${path}/events`)).body.data;
    const started = events.find(({ event_type }) => event_type === "step.started");
    return (started?.["data"] as { model: string } | undefined)?.model;
  };
  expect(await used({}, null)).toBe("claude-haiku-4-5");
  expect(await used({ default_model_id: ofAgent.id }, null)).toBe("claude-sonnet-4-5");
  expect(await used({ default_model_id: ofAgent.id }, ofSession.id)).toBe("claude-opus-4-5");
  expect(await used({ default_model_id: ofAgent.id }, ofSession.id, fallback.id)).toBe("claude-haiku-4-5");
  expect((await call("POST", "/v1/agents", { name: "A", default_model_id: NOBODY })).status).toBe(422);
});

test("an agent without a model uses the current default, even in existing sessions", async () => {
  const { call } = await testServer();
  const { path, agentId } = await session(call);
  const used = async (): Promise<unknown> => {
    const { body } = await say(call, path, "Hello.");
    await finished(call, path, String(body["run_id"]));
    const events = (await call("GET", `${path}/events?limit=1000`)).body.data;
    const started = events.findLast(({ event_type }) => event_type === "step.started");
    return (started?.["data"] as { model: string } | undefined)?.model;
  };
  expect(await used()).toBe("claude-sonnet-5-5");
  await call("POST", "/v1/models", { name: "claude-haiku-4-5", is_default: true });
  expect(await used()).toBe("claude-haiku-4-5");
  // A session keeps the agent version with which it was created. A new session uses the latest version.
  await call("PATCH", `/v1/agents/${agentId}`, { model: "claude-opus-4-5" });
  expect(await used()).toBe("claude-haiku-4-5");
  const chosen = (await call("POST", `/v1/agents/${agentId}/sessions`, {})).body;
  expect(chosen["model"]).toBe("claude-opus-4-5");
  await call("PATCH", `/v1/agents/${agentId}`, { default_model_id: null });
  expect((await call("GET", `/v1/agents/${agentId}`)).body["config"]).toMatchObject({ model: "claude-haiku-4-5" });
});

test("runs are listed and read, with their actions, their cost, and the requests to the model", async () => {
  const { call } = await testServer();
  const { path } = await session(call, { system_prompt: "Be brief." });
  for (const text of ["One.", "Two."]) {
    const { body } = await say(call, path, scripted(text, [{ text: `Answer to ${text}` }]));
    await finished(call, path, String(body["run_id"]));
  }
  const runs = (await call("GET", `${path}/runs`)).body.data;
  expect(runs.map(({ number, final_response }) => [number, final_response])).toEqual([
    [2, "Answer to Two."],
    [1, "Answer to One."],
  ]);
  expect(Object.keys(runs[0] ?? {})).toEqual(
    expect.arrayContaining([
      "started_at",
      "completed_at",
      "user_message",
      "final_response",
      "stop_reason",
      "total_steps",
      "usage",
      "cost",
      "generated_files",
    ]),
  );
  const run = `${path}/runs/${String(runs[1]?.["id"])}`;
  expect((await call("GET", run)).body).toMatchObject(runs[1] ?? {});
  const actions = (await call("GET", `${run}/logs`)).body.data.map(({ action_type }) => action_type);
  expect(actions[0]).toBe("run_started");
  expect(actions).toEqual(expect.arrayContaining(["api_call_started", "api_response_received", "run_completed"]));
  expect((await call("GET", `${run}/cost`)).body).toMatchObject({
    cost: { currency: "USD" },
    cost_micros: runs[1]?.["cost_micros"],
  });
  const sent = (await call("GET", `${path}/runs/${String(runs[0]?.["id"])}/steps/1`)).body.data;
  expect(sent).toMatchObject([{ step: 1, attempt: 1, purpose: "step" }]);
  const [{ body: request } = { body: {} }] = sent;
  const { system, messages } = request as { system: { text: string }[]; messages: unknown[] };
  expect(system[0]?.text).toBe("Be brief.");
  expect(messages).toHaveLength(3);
  expect((await call("GET", `${run}/steps/7`)).status).toBe(404);
  expect((await call("GET", `${path}/runs/${NOBODY}`)).status).toBe(404);
  expect((await call("GET", `${path}/runs?limit=1`)).body["next_cursor"]).toEqual(expect.any(String));
});

test("a prompt beyond the limit of a session's queue gets 409, unless its request is a repeat", async () => {
  const { call } = await testServer({ limits: { queuedPrompts: 2 } });
  const { path } = await session(call, {});
  await say(call, path, scripted("Slow.", [{ text: "Never.", hang: true }]));
  await expect.poll(async () => (await call("GET", path)).body["activity"]).toBe("running");
  const prompt = (text: string, key?: string) =>
    call("POST", `${path}/messages`, { role: "user", content: { text } }, key ? { "idempotency-key": key } : {});
  expect((await prompt("One.")).status).toBe(202);
  const second = await prompt("Two.", "second");
  expect(second.status).toBe(202);
  const third = await prompt("Three.", "third");
  expect(third).toMatchObject({
    status: 409,
    body: { error: { code: "conflict", message: expect.stringContaining("has 2 waiting prompts") } },
  });
  expect((await prompt("Two.", "second")).body["run_id"]).toBe(second.body["run_id"]);
  await call("POST", `${path}/cancel`, { run_id: second.body["run_id"] });
  expect((await prompt("Three.", "third")).status).toBe(202);
  await call("POST", `${path}/cancel`, {});
});

test("a run that is queued, or was cancelled in the queue, can be read", async () => {
  const { call } = await testServer();
  const { path } = await session(call, { frontend_tools: [pick] });
  const first = await say(
    call,
    path,
    scripted("Pick.", [{ tools: [{ name: "pick", id: "call_1" }] }, { text: "Blue." }]),
  );
  await settled(call, path, "activity", ["awaiting"]);
  const second = await say(call, path, scripted("Two.", [{ text: "Second." }]));
  const run = async (of: typeof first) => (await call("GET", `${path}/runs/${String(of.body["run_id"])}`)).body;
  expect(await run(first)).toMatchObject({ status: "running", number: 1 });
  expect(await run(second)).toMatchObject({
    status: "queued",
    number: 2,
    started_at: null,
    outcome: null,
    user_message: expect.stringContaining("Two."),
    messages: [],
  });
  const third = await say(call, path, "Three.");
  await call("POST", `${path}/cancel`, { run_id: third.body["run_id"] });
  expect(await run(third)).toMatchObject({
    status: "cancelled",
    outcome: "cancelled",
    number: null,
    started_at: null,
    completed_at: expect.any(String),
    user_message: "Three.",
  });
  const steering = await say(call, path, "Rather red.", { mode: "steer" });
  await call("POST", `${path}/awaits/call_1`, { content: "blue" });
  expect(await finished(call, path, String(second.body["run_id"]))).toMatchObject({
    status: "completed",
    number: 2,
    started_at: expect.any(String),
  });
  // The first run read the prompt of this run, and the error names the first run.
  expect((await run(steering)).error).toMatchObject({ details: { run_id: first.body["run_id"] } });
});

test("a call of a tool that the caller runs is listed as an await, its first answer is accepted, and a second answer is a duplicate", async () => {
  const { call } = await testServer();
  const { path } = await session(call, { frontend_tools: [pick] });
  await say(call, path, scripted("Pick.", [{ tools: [{ name: "pick", id: "call_1" }] }, { text: "Blue it is." }]));
  await settled(call, path, "activity", ["awaiting"]);
  expect((await call("GET", `${path}/awaits`)).body.data).toMatchObject([
    { tool_use_id: "call_1", kind: "frontend_tool", name: "pick" },
  ]);
  const answer = { content: "blue" };
  expect(await call("POST", `${path}/awaits/call_1`, answer)).toMatchObject({
    status: 202,
    body: { disposition: "accepted" },
  });
  await settled(call, path);
  expect(await call("POST", `${path}/awaits/call_1`, answer)).toMatchObject({
    status: 202,
    body: { disposition: "duplicate" },
  });
  expect(await call("POST", `${path}/awaits/call_2`, answer)).toMatchObject({
    status: 409,
    body: { error: { code: "not_awaiting" } },
  });
  expect((await call("GET", `${path}/awaits`)).body.data).toEqual([]);
});

test.each([
  [{ content: { text: "Hello." } }, 'role: Expected "user", but the role is missing.'],
  [{ role: "assistant", content: { text: "Hello." } }, 'role: Expected "user". Runs create all other messages.'],
])("a message with the body %j is rejected, and the error says which role was expected", async (body, message) => {
  const { call } = await testServer();
  const { path } = await session(call);
  expect(await call("POST", `${path}/messages`, body)).toMatchObject({ status: 422, body: { error: { message } } });
});

test("cancel ends a run, and gets 409 without a run", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  expect(await call("POST", `${path}/cancel`)).toMatchObject({ status: 409, body: { error: { code: "not_running" } } });
  const { body } = await say(call, path, scripted("Wait.", [{ text: "Late.", delayMs: 5000 }]));
  await settled(call, path, "status", ["running"]);
  expect(await call("POST", `${path}/cancel`, { reason: "enough" })).toMatchObject({
    status: 202,
    body: { run_id: body["run_id"] },
  });
  expect(await settled(call, path)).toMatchObject({ status: "failed", outcome: "cancelled" });
});

test("a session is forked at a message, edited, listed by tag and status, and deleted", async () => {
  const { call } = await testServer();
  const { path, id, agentId } = await session(call);
  await say(call, path, scripted("One.", [{ text: "First." }]));
  await settled(call, path);
  const [user] = (await call("GET", `${path}/messages`)).body.data;
  const fork = await call("POST", `${path}/fork`, { message_id: user?.["id"] });
  expect(fork).toMatchObject({ status: 201, body: { parent_session_id: id, status: "pending" } });
  expect((await call("GET", `/v1/sessions/${fork.body.id}/messages`)).body.data).toMatchObject([
    { role: "user", sequence: 1 },
  ]);
  expect((await call("PATCH", path, { title: "Numbers", tags: ["red"] })).body).toMatchObject({
    title: "Numbers",
    tags: ["red"],
  });
  const ids = async (query: string): Promise<unknown[]> =>
    (await call("GET", `/v1/sessions?${query}`)).body.data.map((one) => one["id"]);
  expect(await ids("tag=red")).toEqual([id]);
  expect(await ids("status=pending")).toEqual([fork.body.id]);
  expect(await ids(`agent_id=${agentId}&limit=1`)).toEqual([fork.body.id]);
  const page = await call("GET", "/v1/sessions?limit=1");
  expect(await ids(`limit=1&cursor=${String(page.body["next_cursor"])}`)).toEqual([id]);
  expect((await call("DELETE", path)).status).toBe(204);
  expect((await call("GET", path)).status).toBe(404);
  expect((await call("GET", `/v1/sessions/${fork.body.id}`)).status).toBe(200);
});

test.each(["memory:", "sqlite"])(
  "on %s an exported session is imported as a new session with the same log",
  async (store) => {
    const { call } = await testServer({ store: store === "memory:" ? store : `sqlite:${folder()}/skein.db` });
    const { path } = await session(call);
    await say(call, path, scripted("One.", [{ text: "First." }]));
    await settled(call, path);
    const file = (await call("GET", `${path}/export`)).body;
    const imported = await call("POST", "/v1/sessions/import", file);
    expect(imported).toMatchObject({ status: 201, body: { status: "completed", total_runs: 1 } });
    const copy = `/v1/sessions/${imported.body.id}`;
    const [log, logOfCopy] = [
      (await call("GET", `${path}/events`)).body.data,
      (await call("GET", `${copy}/events`)).body.data,
    ];
    expect(logOfCopy.map(({ event_type }) => event_type)).toEqual(log.map(({ event_type }) => event_type));
    const texts = async (from: string): Promise<unknown[]> =>
      (await call("GET", `${from}/messages`)).body.data.map(({ role, content }) => [role, content]);
    expect(await texts(copy)).toEqual(await texts(path));
    const ids = (events: readonly Record<string, unknown>[]): unknown[] => events.map((event) => event["id"]);
    expect(ids(logOfCopy).filter((id) => ids(log).includes(id))).toEqual([]);
    await say(call, copy, scripted("Two.", [{ text: "Second." }]));
    await settled(call, copy, "total_runs", ["2"]);
    const events = file["events"] as Record<string, unknown>[];
    const bad: readonly [string, unknown][] = [
      ["a gap", events.filter((_, index) => index !== 3)],
      ["no beginning", events.slice(1)],
      ["a run that is open", events.slice(0, 5)],
      ["an unknown type", [...events, { ...events[0], sequence: events.length + 1, event_type: "session.hacked" }]],
      ["invalid data", [events[0], { ...events[1], data: { message_id: 7 } }]],
    ];
    for (const [, list] of bad)
      expect((await call("POST", "/v1/sessions/import", { ...file, events: list })).status).toBe(422);
  },
);

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});

test.each(["memory:", "sqlite"])(
  "on %s the runs, messages, steps, actions and tool calls of an imported session have their original times",
  async (store) => {
    const { call } = await testServer({
      store: store === "memory:" ? store : `sqlite:${folder()}/skein.db`,
      config: { tools: [add] },
    });
    const { path } = await session(call, { tools: ["add"] });
    await say(call, path, scripted("Add.", [{ tools: [{ name: "add", input: { a: 2, b: 2 } }] }, { text: "4" }]));
    await settled(call, path);
    const file = (await call("GET", `${path}/export`)).body;
    const events = (file["events"] as Record<string, unknown>[]).map((event) => ({
      ...event,
      created_at: String(event["created_at"]).replace(/^\d{4}/, "2020"),
    }));
    const { body } = await call("POST", "/v1/sessions/import", { ...file, events });
    const copy = `/v1/sessions/${body.id}`;
    for (const list of ["runs", "messages", "steps", "effects"]) {
      const { data } = (await call("GET", `${copy}/${list}`)).body;
      const times = JSON.stringify(data).match(/"\w+_at":"\d{4}/g) ?? [];
      expect([list, new Set(times.map((time) => time.slice(-4)))]).toEqual([list, new Set(["2020"])]);
    }
    const [run] = (await call("GET", `${copy}/runs`)).body["data"] as Run[];
    const actions = (await call("GET", `${copy}/runs/${run?.id}/logs`)).body["data"] as unknown as ActionLog[];
    const years = actions.map(({ timestamp }) => timestamp.slice(0, 4));
    expect(new Set(years)).toEqual(new Set(["2020"]));
    const tools = (await call("GET", `/v1/usage/tools?session_id=${body.id}`)).body["data"];
    expect(tools).toMatchObject([{ day: expect.stringMatching(/^2020/), tool: "add", calls: 1 }]);
    const claude = await call("GET", `/api/v1/sessions/${body.id}/messages`);
    expect(claude.status).toBe(200);
    expect(JSON.stringify(claude.body)).toMatch(/"created_at":"2020/);
    expect(JSON.stringify(claude.body)).not.toMatch(/"created_at":"2(?!020)/);
  },
);

test("usage by day, model, agent and session adds up to the same totals", async () => {
  const { call } = await testServer();
  const sessions = [await session(call), await session(call)];
  for (const { path } of sessions) {
    await say(call, path, "Hello.");
    await settled(call, path);
  }
  const sums = [];
  for (const by of ["day", "model", "agent", "session"]) {
    const rows = (await call("GET", `/v1/usage?group_by=${by}`)).body.data as {
      runs: number;
      cost_micros: number;
      output_tokens: number;
    }[];
    expect(rows).toHaveLength(by === "agent" || by === "session" ? 2 : 1);
    sums.push(
      rows.reduce((sum, row) => [sum[0] + row.runs, sum[1] + row.cost_micros, sum[2] + row.output_tokens] as const, [
        0, 0, 0,
      ] as readonly [number, number, number]),
    );
  }
  expect(new Set(sums.map(String)).size).toBe(1);
  expect(sums[0]?.[0]).toBe(2);
  expect((await call("GET", "/v1/usage?from=2030-01-01T00:00:00Z")).body.data).toEqual([]);

  const [first] = sessions;
  const [day] = (await call("GET", "/v1/usage")).body.data;
  const [model] = (await call("GET", "/v1/usage?group_by=model")).body.data;
  const both = (await call("GET", "/v1/usage?group_by=day,model")).body.data;
  expect(both).toMatchObject([{ key: day?.["key"], second_key: model?.["key"], runs: 2 }]);
  const ofOne = (await call("GET", `/v1/usage?group_by=session,model&session_id=${first?.id}`)).body.data;
  expect(ofOne).toMatchObject([{ key: first?.id, second_key: model?.["key"], runs: 1 }]);
  const opened = (await call("GET", `/v1/sessions/${first?.id}`)).body as { opened_by?: string };
  expect((await call("GET", "/v1/usage?group_by=key")).body.data).toMatchObject([{ key: opened.opened_by, runs: 2 }]);
  // At any moment, one of these two zones has another date than UTC.
  const days = await Promise.all(
    ["Pacific/Kiritimati", "Etc/GMT+12"].map(async (zone) => {
      const [row] = (await call("GET", `/v1/usage?time_zone=${encodeURIComponent(zone)}`)).body.data;
      return row?.["key"];
    }),
  );
  expect(new Set([...days, day?.["key"]]).size).toBeGreaterThan(1);
  for (const query of [
    "group_by=day,day",
    "group_by=day,model,agent",
    "group_by=week",
    "session_id=x",
    "time_zone=Mars",
  ])
    expect([query, (await call("GET", `/v1/usage?${query}`)).status]).toEqual([query, 422]);
});

test("usage is exact at any time: after another run, and after a session was deleted", async () => {
  const { call } = await testServer();
  const [one, two] = [await session(call), await session(call)];
  const runsOf = async (path: string) => (await call("GET", `${path}/runs`)).body.data as unknown as Run[];
  const ask = async ({ path }: { path: string }) => {
    const before = (await runsOf(path)).length;
    await say(call, path, `Hello ${before}.`);
    await expect
      .poll(async () => (await runsOf(path)).map(({ outcome }) => outcome))
      .toEqual(Array.from({ length: before + 1 }, () => "completed"));
  };
  const expectExact = async (...sessions: { id: string; path: string }[]) => {
    const rows = (await call("GET", "/v1/usage?group_by=session")).body.data as unknown as UsageRow[];
    const sums = await Promise.all(
      sessions.map(async ({ id, path }) => {
        const runs = await runsOf(path);
        const cost = runs.reduce((sum, run) => sum + run.cost_micros, 0);
        return [id, runs.length, cost, runs.reduce((sum, run) => sum + run.usage.output_tokens, 0)].join(" ");
      }),
    );
    expect(
      rows.map(({ key, runs, cost_micros, output_tokens }) => [key, runs, cost_micros, output_tokens].join(" ")).sort(),
    ).toEqual(sums.sort());
  };
  await ask(one);
  await expectExact(one);
  await ask(two);
  await expectExact(one, two);
  await ask(one);
  await expectExact(one, two);
  await call("DELETE", one.path);
  await expectExact(two);
});

test("files of a run are listed, and downloaded so that a browser does not render them", async () => {
  const { call, url, key } = await testServer();
  const { path } = await session(call, { server_tools: [{ type: "code_execution_20250825", name: "code_execution" }] });
  const files = [{ name: "ü <b>.html", content: "<script>alert(1)</script>" }];
  await say(call, path, scripted("Make a file.", [{ code: { command: "make", files }, text: "Made." }]));
  await settled(call, path);
  const [file] = (await call("GET", `${path}/files`)).body.data;
  expect(file).toMatchObject({ size: 25 });
  const response = await fetch(`${url}${path}/files/${String(file?.["file_id"])}/content`, {
    headers: { "x-api-key": key },
  });
  expect(await response.text()).toBe("<script>alert(1)</script>");
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''/);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect((await call("GET", `${path}/files/none/content`)).status).toBe(404);
});

test.each([
  ["an image", 202, { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }],
  ["a text", 202, { type: "document", source: { type: "text", media_type: "text/plain", data: "Hello." } }],
  [
    "a PDF",
    202,
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: Buffer.from("%PDF-1.7 …").toString("base64") },
    },
  ],
  [
    "an image whose media_type is wrong",
    422,
    { type: "image", source: { type: "base64", media_type: "image/jpeg", data: PIXEL } },
  ],
  [
    "an SVG as PNG",
    422,
    {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: Buffer.from("<svg/>").toString("base64") },
    },
  ],
  ["no base64", 422, { type: "image", source: { type: "base64", media_type: "image/png", data: "***" } }],
  ["an address", 422, { type: "image", source: { type: "url", url: "http://169.254.169.254/" } }],
])("an upload of %s is answered with %i", async (_, status, block) => {
  const { call } = await testServer();
  const { path } = await session(call);
  expect((await call("POST", `${path}/messages`, { role: "user", content: [block] })).status).toBe(status);
});

test.each([
  ["another role", { role: "assistant", content: { text: "x" } }],
  ["no text", { role: "user", content: { text: "" } }],
  ["no blocks", { role: "user", content: [] }],
  ["an unknown field", { role: "user", content: { text: "x" }, id: "1" }],
])("a message with %s gets 422", async (_, body) => {
  const { call } = await testServer();
  const { path } = await session(call);
  expect(await call("POST", `${path}/messages`, body)).toMatchObject({
    status: 422,
    body: { error: { code: "invalid" } },
  });
});

test("a repeated request with an Idempotency-Key gets the stored answer, another body gets 422, and a concurrent request gets 409 or the same answer", async () => {
  const { call } = await testServer({ store: `sqlite:${folder()}/skein.db` });
  const { path } = await session(call);
  const body = { role: "user", content: { text: "Hello." } };
  const once = { "idempotency-key": "k1" };
  const first = await call("POST", `${path}/messages`, body, once);
  const again = await call("POST", `${path}/messages`, body, once);
  expect(again).toMatchObject({ status: 202, body: first.body });
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await call("POST", `${path}/messages`, { ...body, mode: "steer" }, once)).toMatchObject({
    status: 422,
    body: { error: { code: "key_reused" } },
  });
  const many = await Promise.all(
    Array.from({ length: 20 }, () => call("POST", "/v1/agents", { name: "Once" }, { "idempotency-key": "k2" })),
  );
  expect(many.map(({ status }) => status)).toContain(201);
  for (const { status } of many) expect([201, 409]).toContain(status);
  expect(new Set(many.filter(({ status }) => status === 201).map(({ body: { id } }) => id)).size).toBe(1);
  const failed = await call("POST", "/v1/agents", { name: "" }, { "idempotency-key": "k3" });
  expect(failed.status).toBe(422);
  await settled(call, path);
  expect((await call("GET", path)).body).toMatchObject({ total_runs: 1 });
});

test("ETag: a request with a stale If-Match changes nothing, and a matching If-None-Match is answered without a body", async () => {
  const { call } = await testServer();
  const made = await call("POST", "/v1/agents", { name: "A" });
  const path = `/v1/agents/${made.body.id}`;
  const tag = made.headers.get("etag") ?? "";
  expect((await call("PATCH", path, { name: "B" }, { "if-match": tag })).body).toMatchObject({ name: "B", version: 2 });
  expect(await call("PATCH", path, { name: "C" }, { "if-match": tag })).toMatchObject({
    status: 412,
    body: { error: { code: "precondition_failed" } },
  });
  expect((await call("GET", path, undefined, { "if-none-match": '"2"' })).status).toBe(304);
  expect((await call("GET", path)).body).toMatchObject({ name: "B" });
});

test("another agent's id in the path gets 404", async () => {
  const { call } = await testServer();
  const one = await session(call);
  const other = await session(call);
  for (const rest of ["", "/messages", "/events", "/runs"])
    expect((await call("GET", `/v1/agents/${other.agentId}/sessions/${one.id}${rest}`)).status).toBe(404);
});

test("settings of an agent can be changed, and fields that are left out keep their values", async () => {
  const { call } = await testServer();
  const { body: made } = await call("POST", "/v1/agents", { name: "A", extras: { team: "x" }, frontend_tools: [pick] });
  const change = {
    formatter: "xml",
    stream_meta_history_and_tool_results: true,
    compactor_type: "sliding_window",
    memory_store_type: "placeholder",
    server_tools: [{ type: "web_search_20250305", name: "web_search" }],
    beta_headers: ["code-execution-2025-08-25"],
    api_kwargs: { stop_sequences: ["STOP"] },
    base_delay: 0.5,
    max_parallel_tool_calls: 2,
    max_cost_micros: 5,
  };
  const path = `/v1/agents/${made.id}`;
  expect((await call("PATCH", path, { ...change, compactor_type: "SlidingWindowCompactor" })).body).toMatchObject({
    version: 2,
    config: { ...change, extras: { team: "x", frontend_tools: ["pick"] }, tool_schemas: [pick] },
  });
  const { body } = await call("PATCH", path, { extras: { owner: "y", uses_default_model: false, frontend_tools: [] } });
  expect(body["config"]).toMatchObject({ ...change, tool_schemas: [pick] });
  expect((body["config"] as { extras: unknown }).extras).toEqual({
    owner: "y",
    uses_default_model: true,
    frontend_tools: ["pick"],
  });
  expect((await call("PATCH", path, {})).body).toMatchObject({ version: 3 });
  expect((await call("PATCH", path, { base_delay: 1e300 })).status).toBe(422);
  expect((await call("PATCH", path, { beta_headers: ["a\r\nX-Evil: b"] })).status).toBe(422);
  expect((await call("POST", "/v1/agents", { name: "B", beta_headers: ["a b"] })).status).toBe(422);
});

test("a session can be created without a body, and the error for content of another shape says what was expected", async () => {
  const { call } = await testServer();
  const { agentId, path } = await session(call);
  const { status, body } = await call("POST", `/v1/agents/${agentId}/sessions`);
  expect({ status, tags: body["tags"], title: body["title"] }).toEqual({ status: 201, tags: [], title: null });
  const refused = await call("POST", `${path}/messages`, { role: "user", content: "Hello." });
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body)).toContain("or a list of content blocks.");
  const answered = await call("POST", `${path}/awaits/toolu_1`, { content: { text: "Hello." } });
  expect(JSON.stringify(answered.body)).toContain("Expected text or a list of content blocks.");
});

test("an agent that was stored before its settings became stricter is still listed", async () => {
  const data = folder();
  const { call } = await testServer({ data, store: `sqlite:${join(data, "skein.db")}` });
  const store = await openStore(`sqlite:${join(data, "skein.db")}`);
  const old = { name: "Old", model: "claude-sonnet-5-5", base_delay: 1e300, beta_headers: ["a b"] };
  const { id } = await createAgents({ records: store.records }).create(old);
  await store.close();
  expect((await call("GET", `/v1/agents/${id}`)).body["config"]).toMatchObject(old);
  expect((await call("GET", "/v1/agents")).body.data).toHaveLength(1);
});

test("a run has every field of conversation_history, and a log line has its number", async () => {
  const { call } = await testServer();
  const { path, id } = await session(call);
  for (const text of ["One.", "Two."]) {
    const { body } = await say(call, path, scripted(text, [{ text: `Answer to ${text}` }]));
    await finished(call, path, String(body["run_id"]));
  }
  const [latest] = (await call("GET", `${path}/runs`)).body.data;
  const row = {
    conversation_id: latest?.["id"],
    run_id: latest?.["id"],
    agent_uuid: id,
    sequence_number: 2,
    extras: {},
  };
  expect(latest).toMatchObject({ ...row, created_at: latest?.["completed_at"] });
  const runPath = `${path}/runs/${String(latest?.["id"])}`;
  expect((await call("GET", runPath)).body).toMatchObject({
    ...row,
    messages: [{ role: "user" }, { role: "assistant", content: [{ type: "text", text: "Answer to Two." }] }],
  });
  const logs = (await call("GET", `${runPath}/logs`)).body.data;
  expect(logs.map(({ log_id, agent_uuid, run_id }) => [log_id, agent_uuid, run_id])).toEqual(
    logs.map((_, index) => [index + 1, id, latest?.["id"]]),
  );
});

test("forks and subagents are listed by the session that they come from", async () => {
  const helper = createAgent({ name: "helper", description: "Helps." });
  const boss = createAgent({ name: "Boss", subagents: [helper] });
  const { call } = await testServer({ config: { agents: [boss] } });
  const agent = (await call("GET", "/v1/agents")).body.data.find(({ name }) => name === "Boss");
  const { body } = await call("POST", `/v1/agents/${String(agent?.["id"])}/sessions`, {});
  const path = `/v1/sessions/${body.id}`;
  const asks = {
    tools: [{ id: "toolu_help", name: "helper", input: { prompt: scripted("Help.", [{ text: "Helped." }]) } }],
  };
  const said = await say(call, path, scripted("Get help.", [asks, { text: "Done." }]));
  await finished(call, path, String(said.body["run_id"]));
  const fork = (await call("POST", `${path}/fork`)).body.id;
  const children = (await call("GET", `/v1/sessions?subagent_of_session_id=${body.id}`)).body.data;
  expect(children).toMatchObject([{ subagent_of_session_id: body.id, subagent_of_tool_use_id: "toolu_help" }]);
  const forks = (await call("GET", `/v1/sessions?parent_session_id=${body.id}`)).body.data;
  expect(forks).toMatchObject([{ id: fork, subagent_of_tool_use_id: null }]);
});

test("a generated file is downloaded under the last part of its name", async () => {
  const { call, url, key } = await testServer();
  const { path } = await session(call, { server_tools: [{ type: "code_execution_20250825", name: "code_execution" }] });
  const files = [
    { name: "../a b.txt", content: "A" },
    { name: "..", content: "B" },
  ];
  const said = await say(call, path, scripted("Make files.", [{ code: { command: "ls", files }, text: "Made." }]));
  await finished(call, path, String(said.body["run_id"]));
  const names: (string | null)[] = [];
  for (const { file_id } of (await call("GET", `${path}/files`)).body.data) {
    const response = await fetch(`${url}${path}/files/${String(file_id)}/content`, { headers: { "x-api-key": key } });
    names.push(response.headers.get("content-disposition"));
  }
  const saved = ["a%20b.txt", "file"].map((name) => `attachment; filename*=UTF-8''${name}`);
  expect(new Set(names)).toEqual(new Set(saved));
});

test("a client that prefers JSON to a stream gets the list", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  const accept = "application/json, text/event-stream;q=0.5";
  expect((await call("GET", `${path}/events`, undefined, { accept })).body.data).toHaveLength(1);
  const limited = await call("GET", `${path}/events?limit=1`, undefined, { accept: "text/event-stream" });
  expect(limited.status).toBe(422);
});

test("an edit without a change makes no event, and a fork with a title that not every store can keep is rejected", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  const before = (await call("GET", path)).body;
  expect(await call("PATCH", path, {})).toMatchObject({ status: 200, body: before });
  expect((await call("GET", `${path}/events`)).body.data).toHaveLength(1);
  for (const title of ["a\u0000b", "\ud800", "x".repeat(256)])
    expect((await call("POST", `${path}/fork`, { title })).status).toBe(422);
  expect((await call("POST", `${path}/fork`, { title: "Another way" })).body).toMatchObject({ title: "Another way" });
});

test("a page of large events ends early and says where it continues", async () => {
  const { call } = await testServer();
  const { path } = await session(call, { frontend_tools: [pick] });
  await say(call, path, scripted("Pick.", [{ tools: [{ name: "pick", id: "call_1" }] }]));
  await settled(call, path, "activity", ["awaiting"]);
  for (let at = 0; at < 25; at++) await say(call, path, "x".repeat(300_000));
  const sequences: unknown[] = [];
  let pages = 0;
  for (let after: number | null = 0; after !== null; pages++) {
    const { body } = await call("GET", `${path}/events?limit=1000&after=${after}`);
    sequences.push(...body.data.map(({ sequence }) => sequence));
    after = body["next_after"] as number | null;
  }
  expect(sequences).toEqual(sequences.map((_, at) => at + 1));
  expect(sequences.length).toBeGreaterThan(25);
  expect(pages).toBeGreaterThan(1);
});
