import { createAgent, createServer, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { caller, folder, frames, openFrames, say, scripted, session, settled, testServer } from "../../world.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
/** The event types that the platform API defines. Skein has more. */
const NAMED = new Set([
  "step.started",
  "step.generating",
  "step.generated",
  "step.error",
  "message.created",
  "message.delta",
  "tool.started",
  "tool.completed",
  "session.started",
  "session.completed",
  "session.failed",
]);

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});

test("the events of the platform API come in the specified order", async () => {
  const { call, url, key } = await testServer();
  const { id, agentId } = await session(call);
  const path = `/v1/agents/${agentId}/sessions/${id}`;
  const posted = await say(
    call,
    path,
    scripted("How much is 2+2?", [{ thinking: "Two, two.", text: "The answer is 4", chunk: 10, chunkDelayMs: 5 }]),
  );
  expect(posted.status).toBe(202);
  expect(posted.body).toMatchObject({
    message: { id: expect.stringMatching(UUID_V7), session_id: id, role: "user", tool_call_id: null },
    run_id: expect.stringMatching(UUID_V7),
    event_sequence: 2,
  });

  const seen = await frames(`${url}${path}/events`, {
    headers: { "x-api-key": key },
    isLast: ({ event }) => event === "session.completed",
  });
  expect(seen.filter(({ event }) => NAMED.has(event)).map(({ event }) => event)).toEqual([
    "session.started",
    "message.created",
    "step.started",
    "message.delta",
    "step.generating",
    "message.delta",
    "step.generating",
    "message.delta",
    "step.generated",
    "message.created",
    "session.completed",
  ]);
  const drafts = seen.filter(({ id: sequence }) => sequence === undefined);
  expect(drafts.map(({ event, data: { data } }) => [event, data["kind"], data["offset"], data["delta"]])).toEqual([
    ["message.delta", "thinking", 0, "Two, two."],
    ["step.generating", undefined, 0, "The answer"],
    ["message.delta", "text", 0, "The answer"],
    ["step.generating", undefined, 10, " is 4"],
    ["message.delta", "text", 10, " is 4"],
  ]);
  const facts = seen.filter(({ id: sequence }) => sequence !== undefined);
  expect(facts.map(({ id: sequence }) => Number(sequence))).toEqual(facts.map((_, index) => index + 1));
  for (const { data, event, id: sequence } of facts) {
    expect(Object.keys(data)).toEqual(["id", "session_id", "sequence", "event_type", "data", "created_at"]);
    expect([data["event_type"], String(data["sequence"]), data["session_id"]]).toEqual([event, sequence, id]);
  }

  expect((await call("GET", path)).body).toMatchObject({ status: "completed", finished_at: expect.any(String) });
  expect((await call("GET", `${path}/messages`)).body.data).toMatchObject([
    { sequence: 1, role: "user", tool_call_id: null },
    { sequence: 2, role: "assistant", content: { text: "The answer is 4" } },
  ]);
  const list = await call("GET", `${path}/events`);
  expect(list.body.data).toEqual(facts.map(({ data }) => data));
});

test("tool calls are separate rows in the platform API's format", async () => {
  const { call } = await testServer({ config: { tools: [add] } });
  const { path } = await session(call, { tools: ["add"] });
  await say(
    call,
    path,
    scripted("Add.", [
      { text: "Adding.", tools: [{ name: "add", input: { a: 2, b: 2 }, id: "call_1" }] },
      { text: "4" },
    ]),
  );
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
  expect((await call("GET", `${path}/messages`)).body.data).toMatchObject([
    { sequence: 1, role: "user" },
    { sequence: 2, role: "assistant", content: { text: "Adding." }, tool_call_id: null },
    {
      sequence: 3,
      role: "tool_call",
      content: { id: "call_1", name: "add", arguments: { a: 2, b: 2 } },
      tool_call_id: "call_1",
    },
    { sequence: 4, role: "tool_result", content: { result: { sum: 4 }, error: null }, tool_call_id: "call_1" },
    { sequence: 5, role: "assistant", content: { text: "4" } },
  ]);
  const blocks = await call("GET", `${path}/messages?format=blocks`);
  expect(blocks.body.data.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect((await call("GET", `${path}/effects`)).body.data).toMatchObject([
    { tool_use_id: "call_1", name: "add", outcome: "committed", policy: "once" },
  ]);
});

test("step.error comes before session.failed, and a new message starts another run", async () => {
  const { call } = await testServer();
  const { path } = await session(call, { max_retries: 0 });
  await say(call, path, scripted("Fail.", [{ error: { status: 400 } }]));
  const failed = await settled(call, path);
  expect(failed).toMatchObject({ status: "failed", outcome: "failed" });
  const { data } = (await call("GET", `${path}/events`)).body;
  const types = data.map(({ event_type }) => event_type);
  expect(types.indexOf("step.error")).toBeGreaterThan(0);
  expect(types.indexOf("step.error")).toBeLessThan(types.indexOf("session.failed"));
  await say(call, path, scripted("Again.", [{ text: "Fine.", delayMs: 3000 }]));
  const running = await settled(call, path, "status", ["running"]);
  expect(running).toMatchObject({ finished_at: null });
  expect(running["started_at"]).not.toBe(failed["started_at"]);
  expect(await settled(call, path)).toMatchObject({ status: "completed", total_runs: 2 });
});

test("a reader that joins in the middle of a step gets the draft so far, then its deltas", async () => {
  const { call, url, key } = await testServer();
  const { path } = await session(call);
  const text = "one two three four five six seven eight nine ten";
  const { body } = await say(call, path, scripted("Count.", [{ text, chunk: 4, chunkDelayMs: 250 }]));
  // Another reader detects that the step is in progress.
  let drafted = 0;
  await frames(`${url}${path}/events?after=${String(body["event_sequence"])}`, {
    headers: { "x-api-key": key },
    isLast: ({ event }) => event === "step.generating" && (drafted += 1) >= 3,
  });
  const seen = await frames(`${url}${path}/events?after=4`, {
    headers: { "x-api-key": key },
    isLast: ({ event }) => event === "session.completed",
  });
  const drafts = seen.filter(({ event }) => event === "step.generating").map(({ data }) => data.data);
  expect(drafts[0]).toMatchObject({ offset: 0 });
  expect(String(drafts[0]?.["delta"]).length).toBeGreaterThan(4);
  expect(drafts.map(({ delta }) => delta).join("")).toBe(text);
  expect(seen[0]).toMatchObject({ event: "step.started", id: "5" });
});

test.each([
  ["Last-Event-ID", { "last-event-id": "3" }, ""],
  ["?after=", {}, "?after=3"],
])("a stream with %s continues after the given event", async (_, headers, query) => {
  const { call, url, key } = await testServer();
  const { path } = await session(call);
  await say(call, path, "Hello.");
  await settled(call, path);
  const seen = await frames(`${url}${path}/events${query}`, {
    headers: { "x-api-key": key, ...headers },
    isLast: ({ event }) => event === "session.completed",
  });
  expect(seen.map(({ id }) => id)).toEqual(["4", "5", "6", "7", "8"]);
});

test.each(["abc", "-1", "999999999", "1e3", "x".repeat(5000)])(
  "a Last-Event-ID %s, which is not in the log, is answered with stream.reset and the whole log",
  async (given) => {
    const { call, url, key } = await testServer();
    const { path } = await session(call);
    const seen = await frames(`${url}${path}/events`, {
      headers: { "x-api-key": key, "last-event-id": given },
      isLast: ({ event }) => event === "session.created",
    });
    expect(seen).toMatchObject([
      { event: "stream.reset", id: undefined, data: { given: given.slice(0, 100), after: 0 } },
      { event: "session.created", id: "1" },
    ]);
  },
);

test("before the server stops, a last frame tells the readers of streams that the server stops", async () => {
  const { call, url, key, close } = await testServer();
  const { path } = await session(call);
  const reading = await openFrames(`${url}${path}/events`, { "x-api-key": key });
  await close();
  expect((await reading.rest).at(-1)).toMatchObject({ event: "stream.closing", data: { reason: "shutdown" } });
});

test("an archived agent accepts no new session, and a session keeps the version it began with", async () => {
  const { call } = await testServer({ store: `sqlite:${folder()}/skein.db` });
  const { path, agentId } = await session(call, { system_prompt: "Be brief." });
  const patched = await call("PATCH", `/v1/agents/${agentId}`, { system_prompt: "Be long." });
  expect(patched.body).toMatchObject({ version: 2, system_prompt: "Be long." });
  expect((await call("GET", path)).body).toMatchObject({ agent_version: 1 });
  expect((await call("GET", `/v1/agents/${agentId}?version=1`)).body).toMatchObject({ system_prompt: "Be brief." });
  expect((await call("DELETE", `/v1/agents/${agentId}`)).body).toMatchObject({ status: "archived" });
  expect(await call("POST", `/v1/agents/${agentId}/sessions`, {})).toMatchObject({
    status: 409,
    body: { error: { code: "archived" } },
  });
  expect((await call("GET", "/v1/agents?status=active")).body.data).toEqual([]);
});

test("the server runs inside another program, with that program's agents", async () => {
  const log: unknown[] = [];
  const server = await createServer({
    port: 0,
    store: "memory:",
    data: folder(),
    agents: [createAgent({ name: "Adder", tools: [add] })],
    log: (line) => log.push(line),
  });
  const { body } = await caller(server.url, server.key.key)("GET", "/v1/agents");
  expect(body.data).toMatchObject([{ name: "Adder", config: { tool_schemas: [{ name: "add" }] } }]);
  expect(log).toMatchObject([{ method: "GET", route: "/v1/agents", status: 200, tenant: "default" }]);
  await server.close();
});
