/** Agents that are stored and read again, and tools that agents can name. */
import { defineTool } from "skein";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { finished, folder, say, scripted, session, settled, testServer } from "../../world.ts";

test("an archived agent is restored and accepts sessions again", async () => {
  const { call } = await testServer();
  const { agentId } = await session(call);
  await call("DELETE", `/v1/agents/${agentId}`);
  expect((await call("POST", `/v1/agents/${agentId}/sessions`, {})).status).toBe(409);
  const back = await call("POST", `/v1/agents/${agentId}/restore`);
  expect([back.status, back.body["status"], back.body["version"]]).toEqual([200, "active", 3]);
  expect((await call("POST", `/v1/agents/${agentId}/sessions`, {})).status).toBe(201);
  expect((await call("POST", `/v1/agents/${agentId}/restore`)).body["version"]).toBe(3);
  const versions = await call("GET", `/v1/agents/${agentId}/versions?limit=2`);
  expect(versions.body.data).toMatchObject([
    { version: 3, status: "active" },
    { version: 2, status: "archived" },
  ]);
  const rest = await call("GET", `/v1/agents/${agentId}/versions?cursor=${String(versions.body["next_cursor"])}`);
  expect([rest.body.data, rest.body["next_cursor"]]).toMatchObject([[{ version: 1, status: "active" }], null]);
  expect((await call("POST", "/v1/agents/00000000-0000-7000-8000-000000000000/restore")).status).toBe(404);
});

test("a tool that the caller runs may have a time limit, which is not sent to the model", async () => {
  const { call } = await testServer();
  const pick = { name: "pick", description: "Picks.", input_schema: { type: "object" }, timeout_ms: 100 };
  const { agentId, path } = await session(call, { frontend_tools: [pick] });
  const { body: posted } = await say(
    call,
    path,
    scripted("Pick.", [{ tools: [{ name: "pick", id: "call_1" }] }, { text: "Nobody picked." }]),
  );
  const run = `${path}/runs/${String(posted["run_id"])}`;
  await settled(call, run, "outcome", ["completed"]);
  const events = (await call("GET", `${path}/events`)).body.data;
  const of = (type: string) => events.find(({ event_type }) => event_type === type)?.["data"];
  expect(of("await.opened")).toMatchObject({ awaits: [{ name: "pick", expires_at: expect.any(String) }] });
  expect(of("await.resolved")).toMatchObject({ tool_use_id: "call_1", resolution: "timed_out" });
  const [sent] = (await call("GET", `${run}/steps/1`)).body.data;
  expect(sent).toMatchObject({ body: { tools: [{ name: "pick" }] } });
  expect(JSON.stringify(sent)).not.toContain("timeout_ms");
  const { body: patched } = await call("PATCH", `/v1/agents/${agentId}`, { tools: [] });
  expect(patched["config"]).toMatchObject({ tool_schemas: [pick] });
});

test.each([
  ["an unknown field", { parameters: {} }, "parameters"],
  ["a time limit of zero", { timeout_ms: 0 }, "timeout_ms"],
  ["a time limit of years", { timeout_ms: 1e11 }, "timeout_ms"],
])("%s of a tool that the caller runs is rejected with the name of the field", async (_, more, named) => {
  const { call } = await testServer();
  const frontend_tools = [{ name: "pick", input_schema: { type: "object" }, ...more }];
  const { status, body } = await call("POST", "/v1/agents", { name: "A", frontend_tools });
  expect([status, body.error.message]).toEqual([422, expect.stringContaining(named)]);
});

test("an agent with an output_schema completes with an answer that fits, and fails if no answer fits", async () => {
  const { call } = await testServer();
  const output_schema = { type: "object", properties: { total: { type: "number", minimum: 1 } }, required: ["total"] };
  const { path } = await session(call, { output_schema });
  const outcome = async (...texts: readonly string[]) => {
    const steps = texts.map((text) => ({ text }));
    const { body } = await say(call, path, scripted(`Total of ${texts.join(", ")}`, steps));
    return finished(call, path, String(body["run_id"]));
  };
  expect(await outcome('{"total":0}', 'Here it is:\n```json\n{"total":5}\n```')).toMatchObject({
    outcome: "completed",
    final_response: '{"total":5}',
  });
  expect(await outcome("none")).toMatchObject({ outcome: "failed" });
  const failed = (await call("GET", `${path}/events?limit=200`)).body.data.at(-1);
  expect(failed).toMatchObject({ event_type: "session.failed", data: { error: { code: "validation_failed" } } });
});

test.each([
  ["a root that is no object", { output_schema: { type: "array" } }],
  ["a reference to nothing", { output_schema: { type: "object", properties: { a: { $ref: "#/nowhere" } } } }],
])("an output_schema with %s is rejected", async (_, agent) => {
  const { call } = await testServer();
  const { status, body } = await call("POST", "/v1/agents", { name: "A", ...agent });
  expect([status, body.error.message]).toEqual([422, expect.stringContaining("output_schema")]);
});

test("a model of another provider answers, and its request is shown in the format of the log and of the provider", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  vi.stubEnv("LLAMA_KEY", "simulated");
  onTestFinished(() => void vi.unstubAllEnvs());
  const settings = {
    url: `${simulator.url}/v1`,
    key_env: "LLAMA_KEY",
    price: { input: 1, output: 2, date: "2026-11-18" },
  };
  const { call } = await testServer({
    config: { models: { "openai-compatible/llama": settings, "openai/gpt-6": settings } },
  });
  for (const [model, api] of [
    ["openai-compatible/llama", "chat_completions"],
    ["openai/gpt-6", "responses"],
  ]) {
    const { path } = await session(call, { model, system_prompt: "Be brief." });
    const { body } = await say(call, path, scripted(`Hello ${model}`, [{ text: "Hi." }]));
    const run = `${path}/runs/${String(body["run_id"])}`;
    await settled(call, run, "outcome", ["completed"]);
    expect((await call("GET", run)).body).toMatchObject({
      final_response: "Hi.",
      models: [{ model }],
      unpriced_calls: 0,
    });
    const [sent] = (await call("GET", `${run}/steps/1`)).body.data;
    expect(sent).toMatchObject({
      body: { system: "Be brief.", messages: [{ role: "user" }] },
      sent: { api, body: { stream: true } },
      parts: [{ path: "system.0" }, { path: "messages.0.0", origin: "message" }],
    });
  }
  const { path } = await session(call, { model: "nobody/x" });
  const { body } = await say(call, path, "Hello.");
  await settled(call, `${path}/runs/${String(body["run_id"])}`, "outcome", ["failed"]);
  expect((await call("GET", `${path}/runs/${String(body["run_id"])}/steps/1`)).body.data).toMatchObject([
    { sent: null },
  ]);
});

test("tools that agents can name are listed by name", async () => {
  const input = { type: "object", properties: { a: { type: "number" } } };
  const tools = ["b_tool", "a_tool"].map((name) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input,
      policy: name === "a_tool" ? "repeatable" : "once",
      run: () => "",
    }),
  );
  const { call } = await testServer({ config: { tools } });
  const { status, body } = await call("GET", "/v1/tools");
  expect([status, body.data]).toMatchObject([
    200,
    [
      { name: "a_tool", description: "Does a_tool.", input_schema: { type: "object" }, policy: "repeatable" },
      { name: "b_tool", policy: "once" },
    ],
  ]);
  const made = await call("POST", "/v1/agents", { name: "A", tools: body.data.map(({ name }) => name) });
  expect(made.status).toBe(201);
  const without = await testServer();
  expect((await without.call("GET", "/v1/tools")).body).toEqual({ data: [] });
});

test("a session that no server can run shows what is missing in its log, on the session and in /health, until a server can run it", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const rare = defineTool({ name: "rare", description: "Rare.", input: z.looseObject({}), run: () => "found" });
  const first = await testServer({ store, config: { tools: [rare] } });
  const { path } = await session(first.call, { name: "Finder", tools: ["rare"] });
  await first.close();

  const without = await testServer({ store });
  await say(without.call, path, scripted("Find it.", [{ tools: [{ name: "rare" }] }, { text: "Found." }]));
  const missing = /^No server has the tool "rare" of the agent "Finder"\./;
  await expect.poll(async () => (await without.call("GET", path)).body["unserved"]).toMatch(missing);
  const health = (await without.call("GET", "/health")).body;
  expect(health).toMatchObject({ status: "degraded", failing: ["sessions"] });
  expect(health["dependencies"]).toContainEqual(
    expect.objectContaining({ name: "sessions", detail: expect.stringMatching(/No server has the tool "rare"/) }),
  );
  const isQueued = async ({ call }: typeof without) =>
    (await call("GET", "/v1/sessions?include=has_queued_prompt")).body.data.map((one) => one["has_queued_prompt"]);
  // The check is repeated, because the prompt does not count as queued while the worker tries to run it.
  await expect.poll(() => isQueued(without)).toEqual([true]);
  // This time is long enough for several attempts. Only the first attempt is recorded.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const said = (await without.call("GET", `${path}/events`)).body.data.filter(
    ({ event_type }) => event_type === "runtime.noticed",
  );
  expect(said).toMatchObject([{ data: { subtype: "unserved", notice: { text: expect.stringMatching(missing) } } }]);
  await without.close();

  const second = await testServer({ store, config: { tools: [rare] } });
  expect(await settled(second.call, path)).toMatchObject({ status: "completed" });
  expect(await isQueued(second)).toEqual([false]);
});
