import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { StreamEvent } from "@skein/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, names, only, open } from "./world.ts";

/** Sessions of the real Claude Code over `/api/v1`. All tests share one server; each test has its own sessions. */

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let server: ClaudeServer;
beforeAll(async () => {
  server = await claudeServer();
});
afterAll(() => server.close());

const query = (body: Record<string, unknown>, headers?: Record<string, string>): Promise<readonly Frame[]> =>
  all(server, "/api/v1/query", body, headers);
const sessionOf = (frames: readonly Frame[]): string => only(frames, "init").data.session_id;
const textOf = (frames: readonly Frame[]): unknown => only(frames, "result").data["result"];

test("the stream of a query has init, messages with every block, result and done, and the session has the id that Claude Code uses", async () => {
  const prompt = scripted("first-query", [
    { thinking: "Hm.", text: "I look.", tools: [{ name: "Bash", input: { command: "echo blue-$((40+2))" } }] },
    { text: "It says $LAST." },
  ]);
  const frames = await query({ prompt, allowed_tools: ["Bash"], user: "ada", metadata: { team: "yarn" }, tags: ["t"] });
  for (const frame of frames) StreamEvent.parse(frame);
  expect(names(frames)).toEqual(["init", "message", "message", "message", "message", "result", "done"]);
  const id = sessionOf(frames);
  const init = only(frames, "init").data;
  expect(init).toMatchObject({ model: "claude-sonnet-5-5", mcp_servers: [], permission_mode: "default" });
  expect(init["tools"]).toContain("Bash");
  for (const list of ["tools", "plugins", "commands"])
    expect((init[list] as unknown[]).every((name) => typeof name === "string")).toBe(true);
  expect(frames[2]?.data).toMatchObject({
    type: "assistant",
    model: "claude-sonnet-5-5",
    content: [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "I look." },
      { type: "tool_use", name: "Bash" },
    ],
  });
  expect(frames[3]?.data).toMatchObject({
    type: "user",
    content: [{ type: "tool_result", content: "blue-42", is_error: false }],
  });
  expect(textOf(frames)).toBe("It says blue-42.");
  const result = only(frames, "result").data;
  expect(result).toMatchObject({
    session_id: id,
    is_error: false,
    is_complete: true,
    stop_reason: "completed",
    num_turns: 2,
  });
  expect(result["total_cost_usd"]).toBeGreaterThan(0);
  expect(result["session_total_cost_usd"]).toBe(result["total_cost_usd"]);
  expect(Object.keys(result["model_usage"] as object)).toEqual(["claude-sonnet-5-5"]);
  expect(only(frames, "done").data).toEqual({ reason: "completed" });
  const [call] = server.simulator.ledger.calls({ label: "first-query" });
  expect(call?.headers["x-claude-code-session-id"]).toBe(id);
  const { body } = await server.call("GET", `/api/v1/sessions/${id}`);
  expect(body).toMatchObject({
    id,
    status: "completed",
    model: "claude-sonnet-5-5",
    total_turns: 1,
    total_cost_usd: result["total_cost_usd"],
    user: "ada",
    metadata: { team: "yarn" },
    tags: ["t"],
  });
  expect((await server.call("GET", "/api/v1/sessions?user=ada&metadata=team:yarn")).body).toMatchObject({ total: 1 });
  expect((await server.call("GET", "/api/v1/sessions?user=bob")).body).toMatchObject({ total: 0 });
});

test("a resume continues the conversation by its path or by session_id, and turns and cost add up", async () => {
  const id = sessionOf(await query({ prompt: scripted("resume-1", [{ text: "My name is Ariadne." }]) }));
  const second = await all(server, `/api/v1/sessions/${id}/resume`, {
    prompt: scripted("resume-2", [{ text: "Two." }]),
  });
  // Ids are compared without regard to case.
  const third = await query({
    prompt: scripted("resume-3", [{ text: "Three." }]),
    session_id: id.toUpperCase(),
    user: "ada-2",
    metadata: { team: "wool" },
  });
  expect([sessionOf(second), sessionOf(third)]).toEqual([id, id]);
  const [sent] = server.requests("resume-3");
  expect(JSON.stringify(sent?.messages)).toMatch(/My name is Ariadne\..*Two\./s);
  const { body } = await server.call("GET", `/api/v1/sessions/${id.toUpperCase()}`);
  const costs = [second, third].map((frames) => only(frames, "result").data);
  expect(body).toMatchObject({
    total_turns: 3,
    status: "completed",
    user: "ada-2",
    metadata: { team: "wool" },
    total_cost_usd: costs[1]?.["session_total_cost_usd"],
  });
  expect(costs[1]?.["session_total_cost_usd"]).toBeGreaterThan(costs[0]?.["session_total_cost_usd"] as number);
  expect(costs[1]?.["total_cost_usd"]).toBeLessThan(costs[1]?.["session_total_cost_usd"] as number);
});

test("a fork copies a session up to its end or up to a message, and does not change its parent", async () => {
  const first = await query({ prompt: scripted("fork-1", [{ text: "The yarn is red." }]), max_turns: 7 });
  const id = sessionOf(first);
  await all(server, `/api/v1/sessions/${id}/resume`, { prompt: scripted("fork-2", [{ text: "The needle is long." }]) });
  const before = (await server.call("GET", `/api/v1/sessions/${id}/messages`)).body;
  const whole = await all(server, `/api/v1/sessions/${id}/fork`, { prompt: scripted("fork-3", [{ text: "A." }]) });
  const at = first.find(({ data }) => data.type === "assistant")?.data["uuid"];
  const early = await all(server, `/api/v1/sessions/${id}/fork`, {
    prompt: scripted("fork-4", [{ text: "B." }]),
    message_id: at,
  });
  const byQuery = await query({ prompt: scripted("fork-5", [{ text: "C." }]), session_id: id, fork_session: true });
  const ids = [whole, early, byQuery].map(sessionOf);
  expect(new Set([id, ...ids]).size).toBe(4);
  const sent = (label: string): string => JSON.stringify(server.requests(label)[0]?.messages);
  expect(sent("fork-3")).toMatch(/The yarn is red\..*The needle is long\./s);
  expect(sent("fork-4")).toContain("The yarn is red.");
  expect(sent("fork-4")).not.toContain("The needle is long.");
  expect(sent("fork-5")).toContain("The needle is long.");
  for (const fork of ids)
    expect((await server.call("GET", `/api/v1/sessions/${fork}`)).body).toMatchObject({
      parent_session_id: id,
      total_turns: 1,
    });
  expect((await server.call("GET", `/api/v1/sessions/${id}/messages`)).body).toEqual(before);
  // A fork continues with its own messages.
  await all(server, `/api/v1/sessions/${ids[1]}/resume`, { prompt: scripted("fork-6", [{ text: "D." }]) });
  expect(sent("fork-6")).toMatch(/The yarn is red\..*B\./s);
});

test("continue_conversation continues the tenant's latest session of the folder", async () => {
  await query({ prompt: scripted("continue-1", [{ text: "Older." }]) });
  const id = sessionOf(await query({ prompt: scripted("continue-2", [{ text: "Latest." }]) }));
  const frames = await query({ prompt: scripted("continue-3", [{ text: "On." }]), continue_conversation: true });
  expect(sessionOf(frames)).toBe(id);
  expect(JSON.stringify(server.requests("continue-3")[0]?.messages)).toContain("Latest.");
});

test("/api/v1/query/single returns the whole run in one response", async () => {
  const prompt = scripted("single", [
    { text: "Looking.", tools: [{ name: "Bash", input: { command: "echo one" } }] },
    { text: "Found $LAST." },
  ]);
  const { body } = await server.call("POST", "/api/v1/query/single", { prompt, allowed_tools: ["Bash"] });
  expect(body).toMatchObject({
    model: "claude-sonnet-5-5",
    content: [
      { type: "text", text: "Looking." },
      { type: "tool_use", name: "Bash" },
      { type: "text", text: "Found one." },
    ],
    is_error: false,
    is_complete: true,
    stop_reason: "completed",
    num_turns: 2,
    result: "Found one.",
    questions: [],
  });
});

test("the limit of turns and an error of the model are reported", async () => {
  const turn = { text: "On.", tools: [{ name: "Bash", input: { command: "echo x" } }] };
  const limited = await query({ prompt: scripted("turns", [turn, turn, turn]), allowed_tools: ["Bash"], max_turns: 1 });
  expect(only(limited, "result").data).toMatchObject({
    is_error: true,
    is_complete: false,
    stop_reason: "max_turns_reached",
  });
  expect(only(limited, "done").data).toEqual({ reason: "error" });
  const id = sessionOf(limited);
  expect((await server.call("GET", `/api/v1/sessions/${id}`)).body).toMatchObject({ status: "error" });
  const broken = await query({
    prompt: scripted("broken", [{ error: { status: 400, type: "invalid_request_error", message: "No." } }]),
  });
  expect(only(broken, "error").data).toMatchObject({ code: "AGENT_ERROR" });
  expect(only(broken, "done").data).toEqual({ reason: "error" });
  // An error ends the run, but not the session.
  const again = await all(server, `/api/v1/sessions/${sessionOf(broken)}/resume`, {
    prompt: scripted("mended", [{ text: "Fine." }]),
  });
  expect(textOf(again)).toBe("Fine.");
});

test("structured output is in the result; an answer that does not match gets 422 from /query/single and an error in the stream, even after a resume", async () => {
  const schema = { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] };
  const output_format = { type: "json_schema", schema };
  const good = { tools: [{ name: "StructuredOutput", input: { colour: "blue" } }] };
  const bad = { tools: [{ name: "StructuredOutput", input: { colour: 7 } }] };
  const plain = { text: "Blue, I think." };
  const single = (label: string, ...steps: object[]) =>
    server.call("POST", "/api/v1/query/single", { prompt: scripted(label, steps), output_format });
  const answer = await single("structured", good, { text: "Done." });
  expect(answer.body).toMatchObject({ structured_output: { colour: "blue" }, is_error: false });
  const path = `/api/v1/sessions/${String(answer.body["session_id"])}`;
  for (const [label, ...steps] of [
    ["unstructured", bad, bad, bad, bad, bad, bad, bad],
    ["plain-words", plain, plain, plain],
  ] as const) {
    const refused = await single(label, ...steps);
    expect([refused.status, refused.body.error.code]).toEqual([422, "STRUCTURED_OUTPUT_VALIDATION_ERROR"]);
    // A resumed session keeps its output format.
    const frames = await all(server, `${path}/resume`, { prompt: scripted(`${label}-resume`, steps) });
    expect(only(frames, "error").data).toMatchObject({ code: "STRUCTURED_OUTPUT_VALIDATION_ERROR" });
    expect(only(frames, "result").data).toMatchObject({ is_error: true, structured_output: null });
  }
  const other = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };
  const resumed = await all(server, `${path}/resume`, {
    prompt: scripted("structured-2", [{ tools: [{ name: "StructuredOutput", input: { count: 3 } }] }, plain]),
    output_format: { schema: other },
  });
  expect(only(resumed, "result").data).toMatchObject({ is_error: false, structured_output: { count: 3 } });
});

test("partial messages are sent after all earlier messages, and before the complete message", async () => {
  const turn = (n: number) => ({ text: `Part ${n}.`, tools: [{ name: "Bash", input: { command: `echo ${n}` } }] });
  const frames = await query({
    prompt: scripted("pieces", [turn(1), turn(2), { text: "End." }]),
    allowed_tools: ["Bash"],
    include_partial_messages: true,
  });
  const order = frames.flatMap(({ event, data }) =>
    event === "partial"
      ? [`piece ${String(data["uuid"])}`]
      : event === "message"
        ? [`${data.type} ${String(data["uuid"])}`]
        : [],
  );
  const said = [...new Set(order)].map((name) => name.split(" "));
  const kinds = said.map(([kind]) => kind);
  expect(kinds).toEqual(["user", "piece", "assistant", "user", "piece", "assistant", "user", "piece", "assistant"]);
  for (const [index, [kind, uuid]] of said.entries())
    if (kind === "piece") expect(said[index + 1]).toEqual(["assistant", uuid]);
});

test("a request with an Idempotency-Key begins one session, however often it is sent", async () => {
  const body = { prompt: scripted("once", [{ text: "Once." }]) };
  const key = { "idempotency-key": "query-once" };
  const first = await query(body, key);
  expect(await query(body, key)).toEqual(first);
  expect(server.requests("once")).toHaveLength(1);
  await expect(query({ prompt: "Another." }, key)).rejects.toMatchObject({ status: 422, code: "key_reused" });
});

test("a broken stream of a query continues with its Last-Event-ID", async () => {
  const body = {
    prompt: scripted("taken-up", [
      { text: "A.", tools: [{ name: "Bash", input: { command: "echo b" } }] },
      { text: "C." },
    ]),
    allowed_tools: ["Bash"],
  };
  const broken = await open(server, "/api/v1/query", body);
  const { id = "" } = await broken.until(({ data }) => data.type === "assistant");
  broken.leave();
  const rest = await query(body, { "last-event-id": id });
  expect(names(rest)).toEqual(["message", "message", "result", "done"]);
  const [sessionId] = id.split(":");
  expect((await server.call("GET", `/api/v1/sessions/${sessionId}`)).body).toMatchObject({ total_turns: 1 });
});

test("messages are stored as user, assistant, system and result, and the stream can be made from them again", async () => {
  const frames = await query({
    prompt: scripted("kept", [
      { text: "Kept.", tools: [{ name: "Bash", input: { command: "echo k" } }] },
      { text: "End." },
    ]),
    allowed_tools: ["Bash"],
  });
  const { body } = await server.call("GET", `/api/v1/sessions/${sessionOf(frames)}/messages`);
  const rows = body["messages"] as { message_type: string; sequence: number; content: Record<string, unknown> }[];
  expect(rows.map(({ message_type }) => message_type)).toEqual([
    "user",
    "system",
    "assistant",
    "user",
    "assistant",
    "result",
  ]);
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map(({ sequence }) => sequence).toSorted((x, y) => x - y));
  // The log has the prompt before Claude Code has started, but the stream begins with init.
  const [prompt, init, ...others] = rows.map(({ content }) => content);
  const told = [init, prompt, ...others].map((content) => expect.objectContaining(inCommon(content)));
  expect(frames.slice(0, -1).map(({ data }) => data)).toEqual(told);
});

/** The fields that a row and a frame have in common. */
function inCommon(content: Record<string, unknown> = {}): Record<string, unknown> {
  const { role: _role, subtype: _subtype, error: _error, content: blocks, ...rest } = content;
  const same = (block: object): unknown => expect.objectContaining(block);
  return { ...rest, ...(Array.isArray(blocks) && { content: blocks.map(same) }) };
}

test("a deleted session gets 404, and its stream ends", async () => {
  const running = await open(server, "/api/v1/query", { prompt: scripted("deleted", [{ hang: true }]) });
  const { data } = await running.until(({ event }) => event === "init");
  const path = `/api/v1/sessions/${data.session_id}`;
  expect((await server.call("DELETE", path)).status).toBe(204);
  const frames = await running.end();
  expect(only(frames, "error").data).toMatchObject({ code: "SESSION_NOT_FOUND" });
  expect((await server.call("GET", path)).status).toBe(404);
  await expect(all(server, `${path}/resume`, { prompt: "x" })).rejects.toMatchObject({ status: 404 });
});

test("no file of a deleted session stays in Claude Code's folder, not even images", async () => {
  const canary = "delete-me-canary";
  const image = { media_type: "image/png", data: PNG };
  const id = sessionOf(await query({ prompt: scripted(canary, [{ text: "Seen." }]), images: [image] }));
  const left = (): readonly string[] =>
    readdirSync(join(server.data, "claude"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => path.includes(id) || readFileSync(path).includes(canary) || path.endsWith(".png"));
  // Another process may delete a file between the listing and the read.
  await expect.poll(left).not.toEqual([]);
  expect((await server.call("DELETE", `/api/v1/sessions/${id}`)).status).toBe(204);
  await expect.poll(left).toEqual([]);
});

test("a session of /api/v1 can be used over /v1", async () => {
  const id = sessionOf(await query({ prompt: scripted("faces", [{ text: "Seen." }]) }));
  const { body } = await server.call("GET", `/v1/sessions/${id}`);
  expect(body).toMatchObject({ id, status: "completed", model: "claude-sonnet-5-5" });
  const agent = await server.call("GET", `/v1/agents/${String(body["agent_id"])}`);
  expect(agent.body).toMatchObject({ name: "Claude Code", config: { runtime: "claude-code" } });
  const said = await server.call("POST", `/v1/sessions/${id}/messages`, {
    role: "user",
    content: { text: scripted("faces-2", [{ text: "Again." }]) },
  });
  expect(said.status).toBe(202);
  expect(textOf(await all(server, `/api/v1/sessions/${id}/stream`))).toBe("Again.");
});

test("health reports the state of each dependency to callers with a key", async () => {
  const { body } = await server.call("GET", "/api/v1/health");
  expect(body).toMatchObject({
    status: "ok",
    dependencies: { store: { status: "ok" }, claude_code: { status: "ok" } },
  });
  const open = (await (await fetch(`${server.url}/api/v1/health`)).json()) as object;
  expect(open).toEqual({ status: "ok", version: body["version"], dependencies: {} });
});
