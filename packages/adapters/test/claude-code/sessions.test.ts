/** Claude Code sessions over several prompts, processes and machines. */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { optionsOf } from "@skein/adapters/runtimes/claude-code";
import { ClaudeSettings, createClaudePolicy } from "@skein/adapters/runtimes/claude-code/policy";
import { expect, test } from "vitest";
import { type KeyPolicy, createMemoryStore } from "@skein/core";
import type { JsonObject } from "@skein/protocol";
import { claudeAgent, createWorld, isAlive, only, play, spawning, until } from "./world.ts";

test("a second prompt uses the same process, and a prompt after the end of the process resumes the session", async () => {
  const pids: number[] = [];
  const world = await createWorld({ children: { maxIdle: 1 }, ...spawning(pids) });
  const first = await world.run(play({ text: "One." }));
  const second = await world.again(first.sessionId, play({ text: "Two." }));
  expect(pids).toHaveLength(1);
  expect(only(second, "session.completed")[0]?.data.final_response).toBe("Two.");

  // Only one idle process may stay, so another session ends this process.
  await world.run(play({ text: "Other." }));
  await until(() => !isAlive(pids[0]));
  // The files of the ended process are removed from the disk, because the log has their content.
  const written = (): string[] => readdirSync(join(world.home, "default"), { recursive: true }).map(String);
  await until(() => !written().some((name) => name.includes(first.sessionId)));
  const third = await world.again(first.sessionId, play({ text: "Three." }));
  expect(pids).toHaveLength(3);
  expect(only(third, "session.completed")[0]?.data.final_response).toBe("Three.");
  const heard = JSON.stringify(world.requests().at(-1)?.["messages"]);
  expect(heard).toContain("One.");
  expect(heard).toContain("Two.");
  expect(world.problems).toEqual([]);
  const state = await world.sessions.state(first.sessionId);
  expect(state.transcript).toHaveLength(6);
  expect(state.unpricedCalls).toBe(0);
  expect(Number(state.costPicos)).toBeGreaterThan(0);
}, 120_000);

test("a process is started in advance for the next session with the same options, and this session gets the id of the process", async () => {
  const pids: number[] = [];
  const world = await createWorld({ children: { maxAhead: 1 }, ...spawning(pids) });
  await world.run(play({ text: "One." }), { system_prompt: "You weave." });
  await until(() => pids.length === 2);
  expect(world.reserve({ system_prompt: "You spin." })).toBeUndefined();
  const id = world.reserve({ system_prompt: "You weave." });
  expect(world.reserve({ system_prompt: "You weave." })).toBeUndefined();
  const agent = claudeAgent({ cwd: world.cwd, system_prompt: "You weave." });
  const { sessionId, runId } = await world.sessions.begin(agent, play({ text: "Two." }), { id: id ?? "" });
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Two.");
  expect(only(events, "runtime.started")[0]?.data.info["session_id"]).toBe(id);
  // The session used the process that was already running. The third process was started in advance for the next
  // session.
  await until(() => pids.length === 3);
  const next = await world.again(sessionId, play({ text: "Three." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Three.");
  expect(pids).toHaveLength(3);
}, 120_000);

test("a process that was started in advance has the policy of its session's API key, and only sessions with the same policy get the process", async () => {
  const starts: string[] = [];
  const store = createMemoryStore();
  const rules: Record<string, KeyPolicy> = { ci: { tools: ["Bash", "Read"] }, docs: { tools: ["Read"] } };
  const policy = createClaudePolicy({
    settings: ClaudeSettings.parse({}),
    records: store.records,
    defaultFolder: (_tenant, sessionId) => join(world.cwd, sessionId),
    rules: { of: ({ name }) => rules[name] ?? {}, sandbox: async () => ({ mode: "off" }) },
  });
  const world = await createWorld({
    store,
    children: { maxAhead: 1 },
    optionsOf: (state, prompt, rulesOf) => policy.resolve(optionsOf(state, prompt), { ...state, rulesOf }),
    spawn({ command, args, cwd, env, signal }) {
      starts.push(args.join(" "));
      return spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "ignore"] });
    },
  });
  const run = async (id: string): Promise<void> => {
    await policy.admit({}, { tenant: "default", sessionId: id, key: "ci", isAdmin: false });
    const { runId } = await world.sessions.begin(claudeAgent({}), play({ text: "Up." }), { id });
    await world.ended(id, runId);
  };
  await run(crypto.randomUUID());
  await until(() => starts.length === 2);
  expect(world.reserve({ cwd: undefined }, rules["docs"])).toBeUndefined();
  const id = world.reserve({ cwd: undefined }, rules["ci"]) ?? "";
  await run(id);
  expect(starts.filter((args) => args.includes(id))).toHaveLength(1);
  expect(world.problems).toEqual([]);
}, 120_000);

test("the number of processes that start at the same time stays within its limit", async () => {
  let starting = 0;
  let most = 0;
  const world = await createWorld({
    children: { maxStarting: 1 },
    spawn: ({ command, args, cwd, env, signal }) => {
      const child = spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "ignore"] });
      starting += 1;
      most = Math.max(most, starting);
      // The first message of a child shows that it has started.
      child.stdout.once("data", () => (starting -= 1));
      return child;
    },
  });
  const runs = await Promise.all([1, 2, 3].map(() => world.run(play({ text: "Up." }))));
  expect(runs.map(({ events }) => only(events, "session.completed")[0]?.data.final_response)).toEqual([
    "Up.",
    "Up.",
    "Up.",
  ]);
  expect(most).toBe(1);
}, 120_000);

test("a session continues on a machine that has none of its files", async () => {
  const store = createMemoryStore();
  const here = await createWorld({ store });
  const { sessionId } = await here.run(play({ text: "The yarn is blue." }));
  await here.stop();
  const there = await createWorld({ store });
  const events = await there.again(sessionId, play({ text: "Still blue." }));
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Still blue.");
  expect(JSON.stringify(there.requests().at(-1)?.["messages"])).toContain("The yarn is blue.");
  expect(only(events, "runtime.started")[0]?.data.info["session_id"]).toBe(sessionId);
  const entries = only(await there.sessions.events(sessionId), "transcript.appended").flatMap(
    ({ data }) => data.entries,
  );
  const uuids = entries.flatMap(({ uuid }) => (typeof uuid === "string" ? [uuid] : []));
  expect(new Set(uuids).size).toBe(uuids.length);
}, 120_000);

test("a child process that dies ends its run with one outcome, and the next prompt resumes the session", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId } = await world.inMidCall();
  process.kill(pids[0] ?? 0, "SIGKILL");
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.failed")).toHaveLength(1);
  expect(only(events, "session.failed")[0]?.data).toMatchObject({ outcome: "failed", error: { code: "runtime_died" } });
  expect(only(events, "tool.completed")[0]?.data).toMatchObject({ outcome: "unknown", is_error: true });
  const next = await world.again(sessionId, play({ text: "Here again." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Here again.");
}, 120_000);

test("a process that hangs when it gets a prompt is ended, and the next prompt gets an answer", async () => {
  const pids: number[] = [];
  const world = await createWorld({ ...spawning(pids), firstWordMs: 15_000 });
  const { sessionId } = await world.run(play({ text: "One." }));
  process.kill(pids[0] ?? 0, "SIGSTOP");
  const events = await world.again(sessionId, play({ text: "Two." }));
  expect(only(events, "session.failed")[0]?.data.error).toMatchObject({ code: "runtime_silent" });
  await until(() => !isAlive(pids[0]));
  const next = await world.again(sessionId, play({ text: "Three." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Three.");
}, 120_000);

test("a worker that lost the lease of a session ends its child process immediately, and the next worker resumes the run", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId, effects } = await world.inMidCall();
  const claim = await world.takeAway(sessionId);
  await until(() => !isAlive(pids[0]));
  const left = await world.sessions.events(sessionId);
  expect(left.at(-1)?.sequence).toBe(claim.lastSequence);
  await world.store.release(claim.lease, { seen: claim.lastSequence, dueAt: Date.now() });
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toContain("The outcome of this call is unknown");
  expect(effects()).toBe("once\n");
  expect(pids).toHaveLength(2);
}, 120_000);

test("a resumed run that is killed again continues without the unfinished work of its last process", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId } = await world.inMidCall();
  const claim = await world.takeAway(sessionId);
  await until(() => !isAlive(pids[0]));
  // The test writes what a second process writes before it dies: the missing result and a "continue" message.
  const entries = only(await world.sessions.events(sessionId), "transcript.appended").flatMap(
    ({ data }) => data.entries,
  );
  const asking = entries.findLast(({ type }) => type === "assistant") as JsonObject;
  const [call] = (asking["message"] as { content: { id: string }[] }).content;
  const result = { type: "tool_result", tool_use_id: call?.id, content: "nobody knows", is_error: true };
  const { message: _, ...common } = asking;
  const after = (parentUuid: unknown, content: unknown, more: JsonObject = {}) => ({
    ...common,
    ...more,
    type: "user",
    parentUuid,
    uuid: crypto.randomUUID(),
    message: { role: "user", content },
  });
  const first = after(asking["uuid"], [result]);
  const word = after(first.uuid, [{ type: "text", text: "Continue from where you left off." }], { isMeta: true });
  const appended = { entries: [first, word], subpath: null };
  await world.store.append(
    sessionId,
    [{ id: crypto.randomUUID(), event_type: "transcript.appended", data: appended }],
    {
      lease: claim.lease,
    },
  );
  await world.store.release(claim.lease, { seen: claim.lastSequence + 1, dueAt: Date.now() });
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("It said: nobody knows");
}, 120_000);

test("a session whose process died before its first append starts again, although the process left a file", async () => {
  const world = await createWorld();
  const session = await world.sessions.create(claudeAgent({ cwd: world.cwd }));
  const project = join(world.home, "default", "projects", world.cwd.replaceAll(/[^A-Za-z0-9]/g, "-"));
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, `${session.id}.jsonl`), `${JSON.stringify({ type: "mode", sessionId: session.id })}\n`);
  const events = await world.again(session.id, play({ text: "Here." }));
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Here.");
}, 120_000);

test("a cancel interrupts the turn, and the process is kept", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId } = await world.inMidCall();
  await world.sessions.cancel(sessionId, { reason: "Enough." });
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.failed")[0]?.data).toMatchObject({
    outcome: "cancelled",
    stop_reason: "cancelled",
    error: { code: "cancelled", message: "Enough." },
    result: { is_error: true },
  });
  expect(only(events, "tool.completed")).toHaveLength(1);
  const next = await world.again(sessionId, play({ text: "Next." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Next.");
  expect(pids).toHaveLength(1);
}, 120_000);

test("pieces of an answer are published while the model generates it, an overload is reported, and a failing API ends the run with its HTTP status", async () => {
  const world = await createWorld();
  const session = await world.sessions.create(claudeAgent({ cwd: world.cwd }));
  const pieces: string[] = [];
  world.host.live.subscribe(session.id, ({ event, message_id }) => pieces.push(`${event.type} ${message_id}`));
  const good = await world.again(
    session.id,
    play({ text: "One two three.", chunk: 5, error: { status: 529, times: 1, headers: { "retry-after": "0" } } }),
  );
  const reply = only(good, "step.generated")[0]?.data;
  expect(pieces.filter((piece) => piece.startsWith("content_block_delta"))).toHaveLength(3);
  expect(new Set(pieces.map((piece) => piece.split(" ")[1]))).toEqual(new Set([reply?.message_id]));
  expect(reply).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text", text: "One two three." }] });
  expect(reply?.usage.output_tokens).toBeGreaterThan(0);
  expect(only(good, "step.retried")[0]?.data.error.status).toBe(529);

  const bad = await world.again(session.id, play({ text: "x", error: { status: 403, message: "Not you." } }));
  expect(only(bad, "session.failed")[0]?.data).toMatchObject({ error: { code: "api_error", status: 403 } });
  const next = await world.again(session.id, play({ text: "And on." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("And on.");
}, 120_000);

test("a subagent's messages are not in the session's transcript, but the subagent's cost counts for the session", async () => {
  const world = await createWorld();
  const { sessionId, events } = await world.run(
    play(
      {
        tools: [
          {
            name: "Agent",
            input: {
              description: "Look",
              subagent_type: "helper",
              prompt: play(
                { text: "I look.", tools: [{ name: "Bash", input: { command: "echo sub" } }] },
                { text: "Found." },
              ),
            },
          },
        ],
      },
      { text: "It found it." },
    ),
    {
      allowed_tools: ["Bash", "Agent"],
      agents: { helper: { description: "Helps.", prompt: "You help.", tools: ["Bash"] } },
    },
  );
  const said = only(events, "subagent.messaged").map(({ data }) => data);
  expect(said.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "user", "assistant"]);
  expect(said.filter(({ usage }) => usage !== null)).toHaveLength(2);
  expect((await world.sessions.state(sessionId)).transcript).toHaveLength(4);
  const runCost = (await world.sessions.runs(sessionId)).items[0]?.cost_micros ?? 0;
  const own = only(events, "step.generated").reduce((sum, { data }) => sum + (data.cost?.total_micros ?? 0), 0);
  expect(runCost).toBeGreaterThan(own);
  // The log also has the transcript of the subagent, so that a resumed session has it.
  const subpaths = only(await world.sessions.events(sessionId), "transcript.appended").map(({ data }) => data.subpath);
  expect(subpaths.some((subpath) => subpath?.startsWith("subagents/agent-"))).toBe(true);
}, 120_000);
