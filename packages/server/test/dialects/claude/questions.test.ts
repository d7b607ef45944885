import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, only, open, talk } from "./world.ts";

/** Answers, permissions, controls and interrupts reach a run of the real Claude Code. */

let server: ClaudeServer;
beforeAll(async () => {
  server = await claudeServer();
});
afterAll(() => server.close());

const questions = [
  {
    question: "Which database?",
    header: "Database",
    multiSelect: false,
    options: [
      { label: "PostgreSQL", description: "A server" },
      { label: "SQLite", description: "A file" },
    ],
  },
];
const asks = (label: string): string =>
  scripted(label, [
    { text: "I have a question.", tools: [{ name: "AskUserQuestion", input: { questions } }] },
    { text: "So be it: $LAST" },
  ]);
const resultOf = (frames: readonly Frame[]): string => String(only(frames, "result").data["result"]);
const path = (id: string): string => `/api/v1/sessions/${id}`;

/** Starts a run that waits for the answer to its question. */
async function asking(label: string) {
  const stream = await open(server, "/api/v1/query", { prompt: asks(label) });
  const { data } = await stream.until(({ event }) => event === "question");
  return { stream, id: data.session_id, question: data };
}

test("the message with a question keeps its tool_use block, and `answer` reaches the agent inside the same run", async () => {
  const { stream, id, question } = await asking("answer");
  expect(question).toMatchObject({
    question: "Which database?",
    kind: "question",
    tool_name: "AskUserQuestion",
    input: { questions },
  });
  const said = stream.frames.find(({ data }) => data.type === "assistant");
  expect(said?.data.content).toMatchObject([
    { type: "text" },
    { type: "tool_use", id: question["tool_use_id"], name: "AskUserQuestion" },
  ]);
  expect((await server.call("GET", path(id))).body).toMatchObject({ status: "active", activity: "awaiting" });
  const answer = { answers: { "Which database?": "PostgreSQL" } };
  expect((await server.call("POST", `${path(id)}/answer`, { answer })).body).toMatchObject({ status: "accepted" });
  expect(resultOf(await stream.end())).toMatch(/PostgreSQL/);
  expect((await server.call("GET", path(id))).body).toMatchObject({ total_turns: 1, status: "completed" });
});

test("a resume request answers an open question: the same run continues, and the streams of the prompt and of the resume show the same result", async () => {
  const { stream, id, question } = await asking("resume-answers");
  const other = await server.call("POST", `${path(id)}/answer`, { answer: "x", tool_use_id: "toolu_other" });
  expect([other.status, other.body.error.message]).toEqual([
    404,
    `tool_use_id: Session ${id} never waited for an answer to toolu_other. It waits for an answer to ${String(question["tool_use_id"])}.`,
  ]);
  await expect(
    all(server, `${path(id)}/resume`, { prompt: "x", permission_mode: "acceptEdits" }),
  ).rejects.toMatchObject({ status: 422 });
  const frames = await all(server, `${path(id)}/resume`, { prompt: "Use SQLite" });
  expect(resultOf(frames)).toMatch(/Use SQLite/);
  expect([frames[0], only(frames, "init").data]).toEqual([only(frames, "init"), only(stream.frames, "init").data]);
  expect(frames.some(({ event }) => event === "question")).toBe(false);
  expect(resultOf(await stream.end())).toBe(resultOf(frames));
  expect((await server.call("GET", path(id))).body).toMatchObject({ total_turns: 1 });
});

test("a repeated resume that answered a question starts no second run", async () => {
  const { stream, id } = await asking("answer-again");
  const key = { "idempotency-key": "answer-again" };
  const first = await all(server, `${path(id)}/resume`, { prompt: "Use SQLite" }, key);
  expect(await all(server, `${path(id)}/resume`, { prompt: "Use SQLite" }, key)).toEqual(first);
  await stream.end();
  expect((await server.call("GET", path(id))).body).toMatchObject({ total_turns: 1 });
});

test("over the socket a prompt answers a question, even with free text", async () => {
  const socket = await talk(server);
  socket.send({ type: "prompt", content: asks("socket-answers") });
  await socket.until(({ event }) => event === "question");
  socket.send({ type: "prompt", content: "Use PostgreSQL" });
  const { data } = await socket.until(({ event }) => event === "result");
  expect(data["result"]).toMatch(/Use PostgreSQL/);
  expect(socket.said.filter(({ event }) => event === "init")).toHaveLength(1);
  expect((await server.call("GET", path(data.session_id))).body).toMatchObject({ total_turns: 1 });
  socket.close();
});

test("in the default mode a tool waits for permission: it runs if allowed, does not run if denied, and its input can be changed", async () => {
  const socket = await talk(server);
  const bash = (label: string, file: string) =>
    scripted(label, [
      { tools: [{ name: "Bash", input: { command: `touch ${file} && echo done` } }] },
      { text: "End: $LAST" },
    ]);
  const file = (name: string): string => join(server.work, name);
  const answered = async (name: string, answer: unknown): Promise<string> => {
    const before = socket.said.length;
    socket.send({ type: "prompt", prompt: bash(`permission-${name}`, file(name)) });
    const asked = await socket.until(
      (message) => message.event === "question" && socket.said.indexOf(message) >= before,
    );
    expect(asked.data).toMatchObject({
      kind: "approval",
      tool_name: "Bash",
      suggestions: expect.arrayContaining([expect.objectContaining({ type: expect.any(String) })]),
    });
    expect(existsSync(file(name))).toBe(false);
    socket.send({ type: "answer", answer });
    const { data } = await socket.until(
      (message) => message.event === "result" && socket.said.indexOf(message) >= before,
    );
    return String(data["result"]);
  };
  expect(await answered("allowed", "allow")).toMatch(/End: done/);
  expect(existsSync(file("allowed"))).toBe(true);
  expect(await answered("denied", { behavior: "deny", message: "Not this one" })).toMatch(/Not this one/);
  expect(existsSync(file("denied"))).toBe(false);
  const other = { behavior: "allow", updatedInput: { command: `touch ${file("instead")} && echo other` } };
  expect(await answered("changed", other)).toMatch(/End: other/);
  expect([existsSync(file("changed")), existsSync(file("instead"))]).toEqual([false, true]);
  socket.close();
});

test("control changes the mode of a run in progress and of later runs", async () => {
  const write = (file: string) => ({ tools: [{ name: "Write", input: { file_path: file, content: "x" } }] });
  const [one, two, three] = ["one", "two", "three"].map((name) => join(server.work, `control-${name}`)) as [
    string,
    string,
    string,
  ];
  const stream = await open(server, "/api/v1/query", {
    prompt: scripted("control", [write(one), write(two), { text: "End." }]),
    // The mode "acceptEdits" covers only files in the working folder.
    cwd: server.work,
  });
  const { data } = await stream.until(({ event }) => event === "question");
  const id = data.session_id;
  const control = { type: "permission_mode_change", permission_mode: "acceptEdits" };
  expect((await server.call("POST", `${path(id)}/control`, control)).body).toEqual({ status: "accepted" });
  await server.call("POST", `${path(id)}/answer`, { answer: "allow" });
  const frames = await stream.end();
  expect(frames.filter(({ event }) => event === "question")).toHaveLength(1);
  expect([existsSync(one), existsSync(two)]).toEqual([true, true]);
  const next = await all(server, `${path(id)}/resume`, {
    prompt: scripted("control-2", [write(three), { text: "End." }]),
  });
  expect(next.filter(({ event }) => event === "question")).toHaveLength(0);
  expect(existsSync(three)).toBe(true);
  const model = { type: "model_change", model: "claude-haiku-5-5" };
  expect((await server.call("POST", `${path(id)}/control`, model)).body).toEqual({ status: "accepted" });
  await all(server, `${path(id)}/resume`, { prompt: scripted("control-3", [{ text: "On." }]) });
  expect(server.requests("control-3")[0]?.model).toBe("claude-haiku-5-5");
  expect((await server.call("GET", path(id))).body).toMatchObject({ model: "claude-haiku-5-5" });
  const nothing = await server.call("POST", `${path(id)}/control`, { type: "permission_mode_change" });
  expect([nothing.status, nothing.body.error.code]).toEqual([422, "VALIDATION_ERROR"]);
});

test("a run without options never gets more rights than its session had: resume and fork keep the session's rights", async () => {
  const first = await open(server, "/api/v1/query", {
    prompt: scripted("rights", [{ text: "Begun." }]),
    permission_mode: "plan",
  });
  const id = only(await first.end(), "init").data.session_id;
  const modes = [
    await all(server, `${path(id)}/resume`, { prompt: scripted("rights-2", [{ text: "On." }]) }),
    await all(server, `${path(id)}/fork`, { prompt: scripted("rights-3", [{ text: "On." }]) }),
    await all(server, "/api/v1/query", { prompt: scripted("rights-5", [{ text: "On." }]), session_id: id }),
  ].map((frames) => only(frames, "init").data["permission_mode"]);
  expect(modes).toEqual(["plan", "plan", "plan"]);
  const socket = await talk(server);
  socket.send({ type: "prompt", prompt: scripted("rights-4", [{ text: "New." }]) });
  expect((await socket.until(({ event }) => event === "init")).data["permission_mode"]).toBe("default");
  socket.close();
});

test("an interrupt ends the run immediately, and does not affect the next run", async () => {
  const stream = await open(server, "/api/v1/query", {
    prompt: scripted("interrupt", [
      { tools: [{ name: "Bash", input: { command: "timeout 60 tail -f /dev/null" } }] },
      { text: "Never." },
    ]),
    allowed_tools: ["Bash"],
  });
  const { data } = await stream.until(({ event }) => event === "init");
  const id = data.session_id;
  await stream.until(({ data: said }) => said.type === "assistant");
  expect((await server.call("POST", `${path(id)}/interrupt`)).body).toMatchObject({ status: "interrupted" });
  const frames = await stream.end();
  expect(only(frames, "result").data).toMatchObject({ is_error: true, stop_reason: "interrupted", is_complete: false });
  expect(only(frames, "done").data).toEqual({ reason: "interrupted" });
  expect((await server.call("GET", path(id))).body).toMatchObject({ status: "error" });
  for (const label of ["after-1", "after-2"])
    expect(resultOf(await all(server, `${path(id)}/resume`, { prompt: scripted(label, [{ text: "Fine." }]) }))).toBe(
      "Fine.",
    );
});

test("a second prompt during a run gets 409 or waits in the queue, the run continues when its client disconnects, and a socket can follow it", async () => {
  const first = await open(server, "/api/v1/query", { prompt: scripted("locked", [{ text: "Slow.", delayMs: 1500 }]) });
  const { data } = await first.until(({ event }) => event === "init");
  const id = data.session_id;
  await expect(all(server, `${path(id)}/resume`, { prompt: "x" })).rejects.toMatchObject({
    status: 409,
    code: "SESSION_LOCKED",
  });
  const second = await open(server, `${path(id)}/resume`, {
    prompt: scripted("queued", [{ text: "Next." }]),
    when_running: "queue",
  });
  first.leave();
  // A socket can attach to a run in progress. After a lost connection it continues where it stopped.
  const socket = await talk(server);
  socket.send({ type: "attach", session_id: id.toUpperCase() });
  const { data: seen } = await socket.until(({ event }) => event === "result");
  expect(seen["result"]).toBe("Slow.");
  expect(socket.said.map(({ event, message }) => event ?? message).slice(0, 3)).toEqual([
    "attached",
    "init",
    "message",
  ]);
  const { id: last } = await socket.until(({ data: said }) => said?.type === "user");
  socket.close();
  const again = await talk(server);
  again.send({ type: "attach", session_id: id, last_event_id: last });
  await again.until(({ event }) => event === "done");
  expect(again.said.map(({ event, message }) => event ?? message)).toEqual(["attached", "message", "result", "done"]);
  again.close();
  const next = await second.end();
  expect([next[0]?.event, resultOf(next)]).toEqual(["init", "Next."]);
  expect((await server.call("GET", path(id))).body).toMatchObject({ total_turns: 2 });
});

test("a plan is shown to the person who decides about it", async () => {
  const first = await all(server, "/api/v1/query", {
    prompt: scripted("plan-file", [{ text: "I think." }]),
    permission_mode: "plan",
  });
  // Claude Code tells the model where to write its plan.
  const sent = JSON.stringify(server.requests("plan-file")[0]?.messages);
  const file = /[^\s"`]*\/plans\/[\w-]+\.md/.exec(sent)?.[0];
  const stream = await open(server, `${path(only(first, "init").data.session_id)}/resume`, {
    prompt: scripted("plan", [
      { tools: [{ name: "Write", input: { file_path: file, content: "1. Cut the yarn." } }] },
      { tools: [{ name: "ExitPlanMode", input: {} }] },
      { text: "So: $LAST" },
    ]),
  });
  const { data } = await stream.until(({ event }) => event === "question");
  expect(data).toMatchObject({ tool_name: "ExitPlanMode", kind: "approval", plan: "1. Cut the yarn." });
  await server.call("POST", `${path(data.session_id)}/answer`, { answer: { behavior: "deny", message: "Not yet." } });
  expect(resultOf(await stream.end())).toContain("Not yet.");
});

test("a run that waits for an answer can be interrupted, and a run ends when its client disconnects if the request asked for that", async () => {
  const { stream, id } = await asking("unanswered");
  expect((await server.call("POST", `${path(id)}/interrupt`)).status).toBe(200);
  expect(only(await stream.end(), "done").data).toEqual({ reason: "interrupted" });
  expect((await server.call("POST", `${path(id)}/answer`, { answer: "Too late" })).status).toBe(404);
  const leaving = await open(server, `${path(id)}/resume`, {
    prompt: scripted("leaving", [{ hang: true }]),
    stop_on_disconnect: true,
  });
  await leaving.until(({ event }) => event === "init");
  leaving.leave();
  expect(only(await all(server, `${path(id)}/stream`), "done").data).toEqual({ reason: "interrupted" });
});

test("the messages of a subagent have the id of the tool call that started it", async () => {
  const inner = scripted("inner", [{ text: "Found it inside." }]);
  const prompt = scripted("outer", [
    { tools: [{ name: "Task", input: { description: "Look", prompt: inner, subagent_type: "looker" } }] },
    { text: "Outer: $LAST" },
  ]);
  const agents = { looker: { description: "Looks.", prompt: "You look.", model: "haiku" } };
  const frames = await all(server, "/api/v1/query", { prompt, agents, allowed_tools: ["Task"] });
  const own = frames.filter(({ data }) => typeof data["parent_tool_use_id"] === "string");
  const call = frames
    .find(({ data }) => data.type === "assistant")
    ?.data.content.find(({ type }) => type === "tool_use");
  expect(new Set(own.map(({ data }) => data["parent_tool_use_id"]))).toEqual(new Set([call?.["id"]]));
  expect(JSON.stringify(own)).toContain("Found it inside.");
  expect(resultOf(frames)).toContain("Found it inside.");
  const models = Object.keys(only(frames, "result").data["model_usage"] as object);
  expect(models.sort()).toEqual(["claude-haiku-5-5", "claude-sonnet-5-5"]);
});
