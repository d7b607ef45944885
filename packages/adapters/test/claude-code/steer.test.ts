/** A steering prompt (one for the run in progress) reaches the current turn, and is neither lost nor repeated. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type World, claudeAgent, createWorld, isAlive, only, play, spawnThrough, spawning, until } from "./world.ts";

const RED = "Use the red yarn.";

/** How often the text occurs in the model's last request. */
function times(world: World): number {
  return JSON.stringify(world.requests().at(-1)?.["messages"]).split(RED).length - 1;
}

/**
 * Begins a session, and waits until it is in the middle of a call. The call ends when `go` is called, or when the
 * folder of the test is removed.
 */
async function working(world: World) {
  const command = "touch begun; while test -e begun && ! test -e go; do sleep 0.05; done; echo gone";
  const { sessionId, runId } = await world.sessions.begin(
    claudeAgent({ cwd: world.cwd, allowed_tools: ["Bash"] }),
    play({ text: "Working.", tools: [{ name: "Bash", input: { command } }] }, { text: "It said: $LAST" }),
  );
  await until(async () => only(await world.sessions.events(sessionId), "tool.started").length > 0);
  return { sessionId, runId, go: () => writeFileSync(join(world.cwd, "go"), "") };
}

/** Steers, and waits until Claude Code has recorded the prompt. Returns the id of the prompt's message. */
async function steered(world: World, sessionId: string): Promise<string> {
  const { messageId } = await world.sessions.prompt(sessionId, { content: RED, mode: "steer" });
  await until(async () =>
    JSON.stringify(only(await world.sessions.events(sessionId), "transcript.appended")).includes(RED),
  );
  return messageId;
}

test("the model reads a steering prompt with the next tool result, in the same run, and a resumed session remembers the prompt", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId, go } = await working(world);
  const messageId = await steered(world, sessionId);
  go();
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("It said: gone");
  const order = events.flatMap((event) =>
    event.event_type === "message.created" ? [event.data.message_id === messageId ? "steer" : event.data.role] : [],
  );
  expect(order).toEqual(["user", "assistant", "user", "steer", "assistant"]);
  expect(times(world)).toBe(1);
  const state = await world.sessions.state(sessionId);
  expect(state.queue).toEqual([]);
  expect(state.runs).toBe(1);

  process.kill(pids[0] ?? 0, "SIGKILL");
  await until(() => !isAlive(pids[0]));
  await world.again(sessionId, play({ text: "Red it is." }));
  expect(times(world)).toBe(1);

  const fork = await world.sessions.fork(sessionId, { messageId });
  await world.again(fork.id, play({ text: "Red here, too." }));
  expect(times(world)).toBe(1);
}, 60_000);

test("a steering prompt that Claude Code does not report is found in Claude Code's transcript", async () => {
  const spawn = await spawnThrough(async ({ type }) => type !== "command_lifecycle");
  const world = await createWorld({ spawn });
  const { sessionId, runId, go } = await working(world);
  const messageId = await steered(world, sessionId);
  go();
  const events = await world.ended(sessionId, runId);
  expect(only(events, "message.created").map(({ data }) => data.message_id)).toContain(messageId);
  await world.again(sessionId, play({ text: "Red it is." }));
  expect(times(world)).toBe(1);
  expect((await world.sessions.state(sessionId)).runs).toBe(2);
}, 60_000);

test("in a turn without tool calls, a steering prompt starts a new run", async () => {
  const world = await createWorld();
  const { sessionId, runId } = await world.sessions.begin(
    claudeAgent({ cwd: world.cwd }),
    play({ text: "Word. ".repeat(10), chunk: 6, chunkDelayMs: 100 }),
  );
  await until(() => world.requests().length > 0);
  const steering = await world.sessions.prompt(sessionId, {
    content: `${RED} ${play({ text: "Red." })}`,
    mode: "steer",
  });
  await world.ended(sessionId, runId);
  const events = await world.ended(sessionId, steering.runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Red.");
  expect(times(world)).toBe(1);
}, 60_000);

test("a worker that loses its session neither loses nor repeats a steering prompt", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const { sessionId, runId } = await working(world);
  const steering = await world.sessions.prompt(sessionId, { content: RED, mode: "steer" });
  await until(async () =>
    JSON.stringify(only(await world.sessions.events(sessionId), "transcript.appended")).includes(RED),
  );
  const claim = await world.takeAway(sessionId);
  await until(() => !isAlive(pids[0]));
  await world.store.release(claim.lease, { seen: claim.lastSequence, dueAt: Date.now() });
  await world.ended(sessionId, runId);
  await until(async () => (await world.sessions.state(sessionId)).queue.length === 0);
  await until(async () => (await world.sessions.get(sessionId)).status === "idle");
  const entered = only(await world.sessions.events(sessionId), "message.created").filter(
    ({ data }) => data.message_id === steering.messageId,
  );
  expect(entered).toHaveLength(1);
  await world.again(sessionId, play({ text: "Red it is." }));
  expect(times(world)).toBe(1);
}, 60_000);
