import { setTimeout as sleep } from "node:timers/promises";
import { type Place, type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import { type Result, quantile } from "./results.ts";
import { newSession, prompt } from "./workload.ts";

const EVENTS = 100;
const PACE_MS = 20;
const GOAL_MS = 50;

/**
 * Measures the time from the call of `append` until the event reaches the followers of the session. The time includes
 * the commit. The lower bound is the memory store, which delivers without a disk.
 */
export async function benchFollowing(
  name: StoreName | "memory",
  { places, progress }: { readonly places: Places; readonly progress: (text: string) => void },
): Promise<Result[]> {
  const results: Result[] = [];
  for (const count of [1, 1000]) {
    const what = `follow: append to delivery, ${count.toLocaleString("en")} ${count === 1 ? "follower" : "followers"}, p99`;
    progress(`${name}: ${what}`);
    const { p99, p50, gaps, deliveries } = await follow(name, await places.fresh(name), count);
    const floor = name === "memory" ? undefined : (await follow("memory", await places.fresh("memory"), count)).p99;
    results.push({
      what,
      store: name,
      value: p99,
      unit: "ms",
      ...(floor !== undefined && { floor, ratio: p99 / floor }),
      goal: `0 gaps, < ${GOAL_MS} ms`,
      passed: gaps === 0 && deliveries === count * EVENTS && p99 < GOAL_MS,
      note: `${gaps} gaps, p50 ${p50.toFixed(1)} ms, ${deliveries.toLocaleString("en")} deliveries`,
    });
  }
  return results;
}

interface Followed {
  readonly p99: number;
  readonly p50: number;
  readonly gaps: number;
  readonly deliveries: number;
}

async function follow(name: StoreName | "memory", place: Place, count: number): Promise<Followed> {
  const store = await openStore(name, place);
  const stop = new AbortController();
  try {
    const sessionId = await newSession(store);
    const calledAt = new Map<number, number>();
    const delays: number[] = [];
    let gaps = 0;
    const watch = async (): Promise<void> => {
      let expected = 1;
      for await (const { sequence } of store.follow(sessionId, {}, stop.signal)) {
        if (sequence !== expected) gaps += 1;
        expected = sequence + 1;
        const called = calledAt.get(sequence);
        if (called !== undefined) delays.push(performance.now() - called);
        if (sequence === EVENTS + 1) return;
      }
      gaps += EVENTS + 2 - expected;
    };
    const watching = Promise.all(Array.from({ length: count }, watch));
    await sleep(500);
    for (let i = 0; i < EVENTS; i++) {
      calledAt.set(i + 2, performance.now());
      await store.append(sessionId, [prompt()]);
      await sleep(PACE_MS);
    }
    await Promise.race([watching, sleep(5000)]);
    stop.abort();
    await watching;
    return { p99: quantile(delays, 0.99), p50: quantile(delays, 0.5), gaps, deliveries: delays.length };
  } finally {
    stop.abort();
    await store.close();
  }
}
