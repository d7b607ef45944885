import type { SessionQuery, Store } from "@skein/core";
import type { NewEvent } from "@skein/protocol";
import { NO_USAGE } from "@skein/protocol";
import { type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import { type Result, median } from "./results.ts";
import { TENANT, created, ids, inParallel, newSession, prompt } from "./workload.ts";

const WIDTH = 128;
const SAMPLES = 21;
const AGENTS = Array.from({ length: 10 }, () => ids());

export interface ReadingOptions {
  readonly places: Places;
  /** How many sessions there are when lists are timed; opening is timed at a tenth. */
  readonly sessions: number;
  readonly progress: (text: string) => void;
}

/** Opening a store, reading a long log and listing many sessions. */
export async function benchReading(name: StoreName | "memory", options: ReadingOptions): Promise<Result[]> {
  const { places, sessions, progress } = options;
  const place = await places.fresh(name);
  const few = sessions / 10;
  let store = await openStore(name, place);
  try {
    progress(`${name}: making ${few.toLocaleString("en")} sessions`);
    const parent = await newSession(store);
    await makeSessions(store, parent, few);
    const results: Result[] = [];
    if (name !== "memory") {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) {
        await store.close();
        const started = performance.now();
        store = await openStore(name, place);
        await store.get(parent);
        times.push(performance.now() - started);
      }
      results.push(
        limit(name, `open with ${few.toLocaleString("en")} sessions`, times, name === "sqlite" ? 50 : undefined),
      );
    }
    const started = new Date();
    progress(`${name}: making ${(sessions - few).toLocaleString("en")} more`);
    await makeSessions(store, parent, sessions - few);
    results.push(await readLong(store, name), ...(await lists(store, name, { parent, started, sessions })));
    return results;
  } finally {
    await store.close();
  }
}

async function readLong(store: Store, name: string): Promise<Result> {
  const sessionId = ids();
  const events = [created(), ...Array.from({ length: 9999 }, () => prompt())];
  await store.append(sessionId, events.slice(0, 1000), { expect: 0 });
  for (let at = 1000; at < events.length; at += 1000) await store.append(sessionId, events.slice(at, at + 1000));
  const times = await timed(async () => {
    if ((await store.read(sessionId)).length !== events.length) throw new Error("The log is not whole.");
  });
  return limit(name, "read a session of 10,000 events", times, 100);
}

async function lists(
  store: Store,
  name: string,
  { parent, started, sessions }: { readonly parent: string; readonly started: Date; readonly sessions: number },
): Promise<Result[]> {
  const half = new Date((started.getTime() + Date.now()) / 2).toISOString();
  const queries: readonly (readonly [string, Omit<SessionQuery, "tenant">])[] = [
    ["status pending", { status: "pending" }],
    ["status completed", { status: "completed" }],
    ["status failed (none)", { status: "failed" }],
    ["tag (1 in 10)", { tag: "often" }],
    ["tag (1 in 1,000)", { tag: "rare" }],
    ["agent (1 in 10)", { agentId: AGENTS[3] ?? "" }],
    ["date (the older half)", { createdBefore: half }],
    ["parent (1 in 100)", { parentSessionId: parent }],
    ["status and agent and tag", { status: "completed", agentId: AGENTS[3] ?? "", tag: "often" }],
    ["the 20th page", { cursor: (await deepCursor(store)) ?? "" }],
  ];
  const results: Result[] = [];
  for (const [by, query] of queries) {
    const times = await timed(() => store.list({ tenant: TENANT, ...query, limit: 50 }));
    results.push(limit(name, `list 50 of ${sessions.toLocaleString("en")} by ${by}`, times, 20));
  }
  return results;
}

async function deepCursor(store: Store): Promise<string | null> {
  let cursor: string | null = null;
  for (let page = 0; page < 20; page++)
    cursor = (await store.list({ tenant: TENANT, limit: 50, ...(cursor !== null && { cursor }) })).cursor;
  return cursor;
}

/** Half of them with a finished run, some forks, tags and agents. */
async function makeSessions(store: Store, parent: string, count: number): Promise<void> {
  await inParallel(count, WIDTH, async (index) => {
    const sessionId = ids();
    const event = created({
      agent_id: AGENTS[index % 10] ?? "",
      title: `Session ${index}`,
      tags: [...(index % 10 === 3 ? ["often"] : []), ...(index % 1000 === 0 ? ["rare"] : [])],
      parent: index % 100 === 0 ? { session_id: parent, sequence: 1 } : null,
    });
    await store.append(sessionId, [event], { expect: 0 });
    if (index % 2 === 0 && index % 4 !== 0) return;
    const claimed = await store.claim({ owner: "bench", leaseMs: 60_000, sessionId });
    if (claimed.kind !== "leased") throw new Error("A new session is free.");
    await store.append(sessionId, finishedRun(), { lease: claimed.lease, expect: 1, release: { dueAt: null } });
  });
}

function finishedRun(): NewEvent[] {
  const [runId, messageId] = [ids(), ids()];
  return [
    {
      id: ids(),
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: "hello", formatter: "json" },
    },
    {
      id: ids(),
      event_type: "session.completed",
      data: {
        run_id: runId,
        step: 1,
        stop_reason: "end_turn",
        final_response: "hello",
        usage: NO_USAGE,
        cost_micros: 0,
        unpriced_calls: 0,
        files_generated: 0,
        duration_ms: 1,
      },
    },
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times;
}

function limit(store: string, what: string, times: readonly number[], most: number | undefined): Result {
  const value = median(times);
  const note = `first ${(times[0] ?? 0).toFixed(1)}, worst ${Math.max(...times).toFixed(1)}`;
  return {
    what,
    store,
    value,
    unit: "ms",
    note,
    ...(most !== undefined && { goal: `< ${most} ms`, passed: value < most }),
  };
}
