/**
 * A message of Claude Code becomes an event of the session's log only after its entry in Claude Code's transcript is
 * stored.
 */
import { messageIdOf } from "@skein/adapters/runtimes/claude-code";
import { type Event, KnownError, type NewEvent } from "@skein/protocol";
import { expect, test } from "vitest";
import {
  type ChildLine,
  claudeAgent,
  createWorld,
  isAlive,
  only,
  play,
  spawnThrough,
  spawning,
  storeWhere,
  until,
} from "./world.ts";

const isTranscript = ({ type }: ChildLine): boolean => type === "transcript_mirror";
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the events that come before the transcript entries of their messages. */
function tooEarly(sessionId: string, events: readonly Event[]): readonly string[] {
  const kept = new Set<string>();
  const early: string[] = [];
  for (const event of events) {
    if (event.event_type === "transcript.appended")
      for (const { message } of event.data.entries) {
        const { id, content } = (message ?? {}) as { id?: string; content?: unknown };
        if (id !== undefined) kept.add(messageIdOf(sessionId, id));
        for (const block of Array.isArray(content) ? (content as { tool_use_id?: string }[]) : [])
          if (block.tool_use_id !== undefined) kept.add(block.tool_use_id);
      }
    const made =
      event.event_type === "step.generated"
        ? event.data.message_id
        : event.event_type === "tool.completed"
          ? event.data.tool_use_id
          : undefined;
    if (made !== undefined && !kept.has(made)) early.push(`${event.sequence} ${event.event_type}`);
  }
  return early;
}

const READS = play(
  { text: "Looking.", tools: [{ name: "Glob", input: { pattern: "*" } }] },
  { text: "Nothing there." },
);

test("the end of a run waits for transcript entries that come after the result", async () => {
  const spawn = await spawnThrough(async (line) => {
    if (isTranscript(line)) await later(700);
    return true;
  });
  const world = await createWorld({ spawn });
  const { sessionId, events } = await world.run(READS);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("Nothing there.");
  expect(tooEarly(sessionId, events)).toEqual([]);
}, 60_000);

test("an answer without transcript entries is not stored, but its cost is stored, and the run fails", async () => {
  let isLost = false;
  const spawn = await spawnThrough(async (line) => !(isLost && isTranscript(line)));
  const world = await createWorld({ spawn });
  const { sessionId } = await world.run(play({ text: "First." }));
  isLost = true;
  const events = await world.again(sessionId, play({ text: "Second." }));
  expect(only(events, "session.failed")[0]?.data.error).toMatchObject({ code: "transcript_lost" });
  expect(tooEarly(sessionId, await world.sessions.events(sessionId))).toEqual([]);
  const [lost] = only(events, "step.abandoned");
  expect(lost?.data.cost?.total_micros).toBeGreaterThan(0);
  isLost = false;
  const next = await world.again(sessionId, play({ text: "Third." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("Third.");
}, 60_000);

const isEntries = ({ event_type }: NewEvent): boolean => event_type === "transcript.appended";

test("a slow append of the transcript also delays the events that are made from it", async () => {
  const store = storeWhere(isEntries, async (original, ...args) => {
    await later(400);
    return original(...args);
  });
  const world = await createWorld({ store });
  const { sessionId, events } = await world.run(READS);
  expect(only(events, "session.completed")).toHaveLength(1);
  expect(tooEarly(sessionId, events)).toEqual([]);
}, 60_000);

test("if the store rejects the transcript, no events that are made from it are stored, and the process is ended", async () => {
  let refused = 0;
  const store = storeWhere(isEntries, () => {
    refused += 1;
    return Promise.reject(new KnownError("lease_lost", "Somebody else has it."));
  });
  const pids: number[] = [];
  const world = await createWorld({ store, ...spawning(pids) });
  const { sessionId } = await world.sessions.begin(claudeAgent({ cwd: world.cwd }), { content: READS });
  await until(() => refused > 0);
  await until(() => !isAlive(pids[0]));
  const types = new Set((await world.sessions.events(sessionId)).map(({ event_type }) => event_type));
  for (const made of ["step.generated", "tool.started", "tool.completed", "session.completed"] as const)
    expect(types).not.toContain(made);
}, 60_000);
