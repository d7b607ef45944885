/**
 * A prompt goes to Claude Code while the beginning of its run is being stored. Claude Code may answer before or after
 * the beginning is stored.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createSpawnChild } from "@skein/adapters/runtimes/claude-code/process-guard";
import { openNone } from "@skein/adapters/sandboxes/none";
import { expect, test } from "vitest";
import type { NewEvent } from "@skein/protocol";
import { type World, createWorld, folder, isAlive, only, play, spawning, storeWhere, until } from "./world.ts";

const isBeginning = ({ event_type }: NewEvent): boolean => event_type === "session.started";

test("if the beginning of a run is stored late, the process is kept, and its messages are stored afterwards", async () => {
  const store = storeWhere(isBeginning, async (append, ...args) => {
    await delay(700);
    return append(...args);
  });
  const found = await openNone();
  if ("problem" in found) throw new Error(found.problem);
  const guarded = createSpawnChild({ ...found, folder: join(folder(), "run") });
  let starts = 0;
  const world = await createWorld({ store, spawn: (request) => ((starts += 1), guarded(request)) });
  const { sessionId } = await world.run(play({ text: "One." }), { allowed_tools: ["Bash"] });
  const step = { tools: [{ name: "Bash", input: { command: "echo once >> effects" } }] };
  const events = await world.again(sessionId, play(step, { text: "Two." }));
  expect(events[0]?.event_type).toBe("session.started");
  expect(only(events, "tool.completed")[0]?.data.outcome).toBe("committed");
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Two.");
  expect(starts).toBe(1);
}, 60_000);

test("a prompt that is cancelled while its run begins leaves no run and no message, even if Claude Code received it", async () => {
  const pids: number[] = [];
  let takeBack: ((runId: string) => Promise<unknown>) | undefined;
  const store = storeWhere(isBeginning, async (append, sessionId, events, options) => {
    const now = takeBack;
    takeBack = undefined;
    for (const event of events) if (event.event_type === "session.started") await now?.(event.data.run_id);
    return append(sessionId, events, options);
  });
  const world: World = await createWorld({ store, ...spawning(pids) });
  const { sessionId } = await world.run(play({ text: "One." }));
  const before = (await world.sessions.state(sessionId)).transcript.length;
  const asked = world.requests().length;
  takeBack = async (runId) => {
    await until(() => world.requests().length > asked);
    // One second is long enough for all messages of the process.
    await delay(1000);
    await world.sessions.cancel(sessionId, { runId });
  };
  const { runId, messageId } = await world.sessions.prompt(sessionId, { content: play({ text: "Never heard." }) });
  await until(() => !isAlive(pids[0]));
  await until(async () => (await world.sessions.get(sessionId)).status === "idle");
  const events = await world.sessions.events(sessionId);
  expect(only(events, "session.started").map(({ data }) => data.run_id)).not.toContain(runId);
  expect(JSON.stringify(only(events, "transcript.appended"))).not.toContain(messageId);
  expect((await world.sessions.state(sessionId)).transcript).toHaveLength(before);
  const next = await world.again(sessionId, play({ text: "Next." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Next.");
  expect(JSON.stringify(world.requests().at(-1))).not.toContain("Never heard");
}, 60_000);
