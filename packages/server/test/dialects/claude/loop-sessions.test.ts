import { StreamEvent, frameId } from "@skein/protocol";
import { expect, test } from "vitest";
import { type TestServer, scripted, session, testServer } from "../../world.ts";
import { all, names, only, open, talk } from "./world.ts";

/**
 * The Claude API shows every session, even sessions of the loop (the runtime in which Skein itself calls the model).
 * Streams, resumes, forks and lists work in the same way.
 */

const ask = { name: "ask", description: "Asks.", input_schema: { type: "object" } };

async function begun(server: TestServer, agent: Record<string, unknown> = {}) {
  const { id } = await session(server.call, agent);
  return { id, path: `/api/v1/sessions/${id}` };
}

test("a resume streams init, messages, result and done, with their sequences as ids", async () => {
  const server = await testServer();
  const { id, path } = await begun(server);
  const frames = await all(server, `${path}/resume`, { prompt: scripted("Hello.", [{ text: "Good morning." }]) });
  expect(names(frames)).toEqual(["init", "message", "message", "result", "done"]);
  for (const frame of frames) StreamEvent.parse(frame);
  expect(only(frames, "init").data).toMatchObject({
    session_id: id,
    tools: [],
    mcp_servers: [],
    plugins: [],
    commands: [],
  });
  expect(frames[2]?.data).toMatchObject({ type: "assistant", content: [{ type: "text", text: "Good morning." }] });
  expect(only(frames, "result").data).toMatchObject({
    session_id: id,
    is_error: false,
    result: "Good morning.",
    num_turns: 1,
  });
  expect(only(frames, "done").data).toEqual({ reason: "completed" });
  expect(frames.at(-1)?.id).toMatch(new RegExp(`^${id}:\\d+$`));
  expect(frames.at(-2)?.id).toBeUndefined();
  const { body } = await server.call("GET", path);
  expect(body).toMatchObject({ id, status: "completed", total_turns: 1, parent_session_id: null });
});

test("a broken stream continues after its Last-Event-ID, and no model call is repeated", async () => {
  const server = await testServer();
  const { id, path } = await begun(server);
  const body = { prompt: scripted("Hello.", [{ text: "One." }]) };
  const whole = await all(server, `${path}/resume`, body);
  for (const [index, frame] of whole.entries()) {
    if (frame.id === undefined) continue;
    const rest = await all(server, `${path}/resume`, body, { "last-event-id": frame.id });
    expect(rest).toEqual(whole.slice(index + 1));
    expect(await all(server, "/api/v1/query", { prompt: "x" }, { "last-event-id": frame.id })).toEqual(rest);
  }
  expect(await all(server, `${path}/stream`)).toEqual(whole);
  expect((await server.call("GET", path)).body["total_turns"]).toBe(1);
  for (const bad of [
    "abc",
    "-1",
    frameId(id, 999_999),
    frameId("01980000-0000-7000-8000-000000000001", 3),
    "9".repeat(10_000),
  ])
    await expect(all(server, `${path}/resume`, body, { "last-event-id": bad })).rejects.toThrow(
      /VALIDATION_ERROR|SESSION_NOT_FOUND/,
    );
});

test("a resume that is repeated with its Idempotency-Key returns the same run", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const body = { prompt: scripted("Hello.", [{ text: "One." }]) };
  const key = { "idempotency-key": "k-1" };
  const first = await all(server, `${path}/resume`, body, key);
  expect(await all(server, `${path}/resume`, body, key)).toEqual(first);
  expect((await server.call("GET", path)).body["total_turns"]).toBe(1);
});

test("partial frames without an id are sent before the complete message", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const prompt = scripted("Hello.", [{ text: "A longer answer.", chunk: 3, chunkDelayMs: 5 }]);
  const frames = await all(server, `${path}/resume`, { prompt, include_partial_messages: true });
  const partials = frames.filter(({ event }) => event === "partial");
  for (const frame of partials) StreamEvent.parse(frame);
  const text = partials.map(({ data }) => (data["delta"] as { text?: string } | undefined)?.text ?? "").join("");
  expect(text).toBe("A longer answer.");
  expect(partials.every(({ id }) => id === undefined)).toBe(true);
  expect(names(frames).lastIndexOf("partial")).toBeLessThan(names(frames).lastIndexOf("message"));
  const { body } = await server.call("GET", `${path}/messages`);
  expect(JSON.stringify(body)).not.toContain("partial");
});

test("a resume during a run gets 409 SESSION_LOCKED, an interrupt ends the run, and a second interrupt gets 404", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const running = await open(server, `${path}/resume`, { prompt: scripted("Wait.", [{ hang: true }]) });
  await running.until(({ event }) => event === "init");
  await expect(all(server, `${path}/resume`, { prompt: "More." })).rejects.toMatchObject({
    status: 409,
    code: "SESSION_LOCKED",
  });
  expect((await server.call("POST", `${path}/interrupt`)).body).toMatchObject({ status: "interrupted" });
  const frames = await running.end();
  expect(only(frames, "result").data).toMatchObject({ is_error: true, is_complete: false, stop_reason: "interrupted" });
  expect(only(frames, "done").data).toEqual({ reason: "interrupted" });
  const again = await server.call("POST", `${path}/interrupt`);
  expect([again.status, again.body.error.code]).toEqual([404, "SESSION_NOT_FOUND"]);
  // The interrupt has no effect on the next run.
  const next = await all(server, `${path}/resume`, { prompt: scripted("Again.", [{ text: "Yes." }]) });
  expect(only(next, "done").data).toEqual({ reason: "completed" });
});

test("a run continues when its client disconnects, unless the request asks to stop it", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const steps = [{ text: "Slow.", delayMs: 200 }];
  const left = await open(server, `${path}/resume`, { prompt: scripted("A.", steps) });
  await left.until(({ event }) => event === "init");
  left.leave();
  expect(only(await all(server, `${path}/stream`), "done").data).toEqual({ reason: "completed" });
  const asked = await open(server, `${path}/resume`, {
    prompt: scripted("B.", [{ hang: true }]),
    stop_on_disconnect: true,
  });
  await asked.until(({ event }) => event === "init");
  asked.leave();
  expect(only(await all(server, `${path}/stream`), "done").data).toEqual({ reason: "interrupted" });
});

test("a fork has its parent's messages up to a given message, and does not change its parent", async () => {
  const server = await testServer();
  const { id, path } = await begun(server);
  const first = await all(server, `${path}/resume`, { prompt: scripted("One.", [{ text: "First." }]) });
  await all(server, `${path}/resume`, { prompt: scripted("Two.", [{ text: "Second." }]) });
  const before = (await server.call("GET", `${path}/messages`)).body;
  const at = first.find(({ data }) => data.type === "assistant")?.data["uuid"];
  const frames = await all(server, `${path}/fork`, {
    prompt: scripted("Other.", [{ text: "Third." }]),
    message_id: at,
    title: "Fork",
  });
  const forkId = only(frames, "init").data.session_id;
  expect(forkId).not.toBe(id);
  const { body } = await server.call("GET", `/api/v1/sessions/${forkId}`);
  expect(body).toMatchObject({ parent_session_id: id, title: "Fork", total_turns: 1 });
  const texts = JSON.stringify((await server.call("GET", `/api/v1/sessions/${forkId}/messages`)).body);
  expect(texts).toMatch(/First\..*Third\./s);
  expect(texts).not.toContain("Second.");
  expect((await server.call("GET", `${path}/messages`)).body).toEqual(before);
  expect((await server.call("GET", `/api/v1/sessions?parent_session_id=${id}`)).body).toMatchObject({ total: 1 });
});

test("a frontend tool that a run waits for is shown as a question, and `answer` answers it within the run", async () => {
  const server = await testServer();
  const { path } = await begun(server, { frontend_tools: [ask] });
  const prompt = scripted("Ask.", [
    { tools: [{ name: "ask", input: { question: "Which one?" } }] },
    { text: "Got $LAST." },
  ]);
  const stream = await open(server, `${path}/resume`, { prompt });
  const { data } = await stream.until(({ event }) => event === "question");
  expect(data).toMatchObject({ kind: "frontend_tool", tool_name: "ask", input: { question: "Which one?" } });
  expect((await server.call("GET", path)).body).toMatchObject({ status: "active", activity: "awaiting" });
  const answered = await server.call("POST", `${path}/answer`, { answer: "The blue one" });
  expect([answered.status, answered.body]).toMatchObject([
    200,
    { status: "accepted", tool_use_id: data["tool_use_id"] },
  ]);
  expect(only(await stream.end(), "result").data).toMatchObject({ result: "Got The blue one." });
  expect((await server.call("POST", `${path}/answer`, { answer: "Again" })).status).toBe(404);
});

test("/api/v1/query/single responds at the end of a run, or when the run needs an answer", async () => {
  const server = await testServer();
  const { id } = await begun(server, { frontend_tools: [ask] });
  const single = (prompt: string) => server.call("POST", "/api/v1/query/single", { prompt, session_id: id });
  const whole = await single(scripted("Hello.", [{ text: "Good morning." }]));
  expect(whole.body).toMatchObject({
    session_id: id,
    content: [{ type: "text", text: "Good morning." }],
    is_error: false,
    is_complete: true,
    stop_reason: "completed",
    num_turns: 1,
    result: "Good morning.",
    structured_output: null,
    questions: [],
  });
  const waits = await single(scripted("Ask.", [{ tools: [{ name: "ask", input: {} }] }, { text: "Fine." }]));
  expect(waits.body).toMatchObject({ is_complete: false, stop_reason: null, questions: [{ tool_name: "ask" }] });
  await server.call("POST", `/api/v1/sessions/${id}/answer`, { answer: "Yes" });
  await all(server, `/api/v1/sessions/${id}/stream`);
});

test("/api/v1/query/single reports a run that takes too long, and the run continues", async () => {
  const server = await testServer({ limits: { answerMs: 300 } });
  const { id, path } = await begun(server);
  const prompt = scripted("Hang.", [{ hang: true }]);
  const late = await server.call("POST", "/api/v1/query/single", { prompt, session_id: id });
  expect([late.status, late.body.error.code]).toEqual([504, "REQUEST_TIMEOUT"]);
  expect((await server.call("GET", path)).body).toMatchObject({ status: "active" });
  await server.call("POST", `${path}/interrupt`);
  expect(only(await all(server, `${path}/stream`), "done").data).toEqual({ reason: "interrupted" });
});

test("messages are rows of the types user, assistant and result, in pages", async () => {
  const server = await testServer();
  const { id, path } = await begun(server);
  await all(server, `${path}/resume`, { prompt: scripted("One.", [{ text: "First." }]) });
  const { body } = await server.call("GET", `${path}/messages`);
  const rows = body["messages"] as { message_type: string; id: string; session_id: string }[];
  expect(rows.map(({ message_type }) => message_type)).toEqual(["user", "assistant", "result"]);
  expect(rows.every(({ session_id }) => session_id === id)).toBe(true);
  const second = (await server.call("GET", `${path}/messages?page=2&page_size=2`)).body;
  expect(second).toMatchObject({ total: 3, page: 2, page_size: 2, messages: [{ message_type: "result" }] });
});

test("sessions are listed by status, tags, title, user and metadata, in pages", async () => {
  const server = await testServer();
  const made = await Promise.all(
    ["Red apple", "Green apple", "Pear"].map(async (title, index) => {
      const { agentId } = await session(server.call);
      const metadata = { n: index, ...(index > 0 && { user: "ada" }) };
      const { body } = await server.call("POST", `/v1/agents/${agentId}/sessions`, {
        title,
        tags: ["fruit", `t${index}`],
        metadata,
      });
      return body.id;
    }),
  );
  await all(server, `/api/v1/sessions/${made[0]}/resume`, { prompt: scripted("Hi.", [{ text: "Hi." }]) });
  const found = async (query: string): Promise<unknown> => {
    const { status, body } = await server.call("GET", `/api/v1/sessions?${query}`);
    return status === 200
      ? (body["sessions"] as { id: string }[]).map(({ id }) => made.indexOf(id)).sort((a, b) => a - b)
      : status;
  };
  expect(await found("tags=fruit")).toEqual([0, 1, 2]);
  expect(await found("tags=fruit&tags=t1")).toEqual([1]);
  expect(await found("tags=fruit&search=APPLE")).toEqual([0, 1]);
  expect(await found("tags=fruit&status=completed")).toEqual([0]);
  expect(await found("tags=fruit&status=active")).toEqual([1, 2]);
  expect(await found("user=ada")).toEqual([1, 2]);
  expect(await found("metadata=n:2&metadata=user:ada")).toEqual([2]);
  expect(await found(`metadata=${encodeURIComponent("a') = 1 OR 1=1 --:x")}`)).toBe(422);
  expect(await found("page_size=101")).toBe(422);
  const { body } = await server.call("GET", "/api/v1/sessions?tags=fruit&page=2&page_size=2");
  expect(body).toMatchObject({ total: 3, page: 2, page_size: 2 });
  expect(body["sessions"]).toHaveLength(1);
  const tagged = await server.call("PATCH", `/api/v1/sessions/${made[2]}/tags`, { tags: ["vegetable"] });
  expect(tagged.body).toMatchObject({ tags: ["vegetable"] });
  expect(await found("tags=fruit")).toEqual([0, 1]);
  expect((await server.call("DELETE", `/api/v1/sessions/${made[2]}`)).status).toBe(204);
  const gone = await server.call("GET", `/api/v1/sessions/${made[2]}`);
  expect([gone.status, gone.body.error.code]).toEqual([404, "SESSION_NOT_FOUND"]);
});

test("the socket accepts prompts in `prompt` or `content`, interrupts, answers, and a prompt that replaces another", async () => {
  const server = await testServer();
  const { id } = await begun(server, { frontend_tools: [ask] });
  const socket = await talk(server);
  socket.send({ type: "prompt", content: scripted("Hello.", [{ text: "One." }]), session_id: id });
  await socket.until(({ event }) => event === "done");
  expect(socket.said.map(({ type, event }) => event ?? type)).toEqual([
    "ack",
    "init",
    "message",
    "message",
    "result",
    "done",
  ]);
  expect(socket.said[0]).toMatchObject({ type: "ack", message: "accepted", session_id: id });

  socket.send({ type: "prompt", prompt: scripted("Hang.", [{ hang: true }]) });
  await socket.until(({ event, data }) => event === "message" && JSON.stringify(data).includes("Hang."));
  socket.send({
    type: "prompt",
    prompt: scripted("Ask.", [{ tools: [{ name: "ask", input: {} }] }, { text: "Got $LAST." }]),
  });
  await socket.until(({ event, data }) => event === "done" && data["reason"] === "interrupted");
  await socket.until(({ event }) => event === "question");
  socket.send({ type: "answer", answer: "it" });
  await socket.until(({ event, data }) => event === "result" && data["result"] === "Got it.");

  socket.send({ type: "prompt", prompt: scripted("Stop me.", [{ hang: true }]) });
  await socket.until(({ event, data }) => event === "message" && JSON.stringify(data).includes("Stop me."));
  socket.send({ type: "interrupt" });
  await socket.until(({ message }) => message === "interrupted");
  await socket.until(
    ({ event, data }) =>
      event === "result" &&
      data["stop_reason"] === "interrupted" &&
      socket.said.filter((one) => one.event === "done").length === 4,
  );

  socket.send({ type: "nothing" });
  const refused = await socket.until(({ type }) => type === "error");
  expect(refused).toMatchObject({ code: "VALIDATION_ERROR" });
  socket.close();
});

test("errors have one format, with the Claude API's codes", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const codeOf = async (method: string, at: string, body?: unknown): Promise<readonly unknown[]> => {
    const answer = await server.call(method, at, body);
    expect(answer.body.error.request_id).toMatch(/^[0-9a-f-]{36}$/);
    return [answer.status, answer.body.error.code];
  };
  const nobody = "/api/v1/sessions/01980000-0000-7000-8000-000000000001";
  expect(await codeOf("GET", nobody)).toEqual([404, "SESSION_NOT_FOUND"]);
  expect(await codeOf("POST", `${nobody}/resume`, { prompt: "x" })).toEqual([404, "SESSION_NOT_FOUND"]);
  expect(await codeOf("GET", "/api/v1/sessions/--settings=x")).toEqual([422, "VALIDATION_ERROR"]);
  expect(await codeOf("POST", "/api/v1/query", { prompt: "" })).toEqual([422, "VALIDATION_ERROR"]);
  expect(await codeOf("POST", `${path}/resume`, { prompt: "x", permission_mode: "plan" })).toEqual([
    422,
    "VALIDATION_ERROR",
  ]);
  expect(await codeOf("POST", `${path}/rewind`, { checkpoint_id: "x" })).toEqual([404, "CHECKPOINT_NOT_FOUND"]);
  expect(await codeOf("GET", `${path}/stream`)).toEqual([404, "SESSION_NOT_FOUND"]);
  expect((await server.call("POST", `${path}/control`, { type: "dance" })).body).toEqual({ status: "unknown_type" });
  const unknown = await fetch(`${server.url}/api/v1/sessions`);
  expect([unknown.status, ((await unknown.json()) as { error: { code: string } }).error.code]).toEqual([
    401,
    "AUTHENTICATION_ERROR",
  ]);
});

test("a request without a body may have the content type of JSON, and a route that needs a body rejects a missing body", async () => {
  const server = await testServer();
  const { path } = await begun(server);
  const send = async (method: string, at: string): Promise<readonly unknown[]> => {
    const headers = { "x-api-key": server.key, "content-type": "application/json" };
    const response = await fetch(`${server.url}${at}`, { method, headers });
    const text = await response.text();
    return [response.status, text === "" ? null : (JSON.parse(text) as { error: { code: string } }).error.code];
  };
  expect(await send("POST", `${path}/interrupt`)).toEqual([404, "SESSION_NOT_FOUND"]);
  expect(await send("POST", `${path}/resume`)).toEqual([422, "VALIDATION_ERROR"]);
  expect(await send("DELETE", path)).toEqual([204, null]);
});

test("a key at its limit of streams starts no run", async () => {
  const server = await testServer({ limits: { streams: 1 } });
  const { path } = await begun(server);
  const first = await open(server, `${path}/resume`, { prompt: scripted("Wait.", [{ hang: true }]) });
  await first.until(({ event }) => event === "init");
  const other = await begun(server);
  await expect(all(server, `${other.path}/resume`, { prompt: "x" })).rejects.toMatchObject({
    status: 429,
    code: "RATE_LIMIT_EXCEEDED",
  });
  expect((await server.call("GET", `${other.path}/messages`)).body).toMatchObject({ total: 0 });
  await server.call("POST", `${path}/interrupt`);
  await first.end();
});

test("the rate limit of a key is reported in the format of the Claude API", async () => {
  const server = await testServer({ limits: { requestBurst: 3, requestsPerSecond: 0.01 } });
  const codes = [];
  for (let index = 0; index < 5; index++) {
    const { status, body, headers } = await server.call("GET", "/api/v1/sessions");
    codes.push(status === 429 ? [body.error.code, headers.get("retry-after") !== null] : status);
  }
  expect(codes.at(-1)).toEqual(["RATE_LIMIT_EXCEEDED", true]);
});
