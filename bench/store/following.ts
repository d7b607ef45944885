import { setTimeout as sleep } from "node:timers/promises";
import { type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import { type Result, quantile } from "./results.ts";
import { newSession, prompt } from "./workload.ts";

const EVENTS = 100;
const PACE_MS = 20;
const GOAL_MS = 50;

/** How long after the call of `append` an event reaches the followers of its session, its commit included. */
export async function benchFollowing(
  name: StoreName | "memory",
  { places, progress }: { readonly places: Places; readonly progress: (text: string) => void },
): Promise<Result[]> {
  const results: Result[] = [];
  for (const count of [1, 1000]) {
    const what = `follow: append to delivery, ${count.toLocaleString("en")} ${count === 1 ? "follower" : "followers"}, p99`;
    progress(`${name}: ${what}`);
    const store = await openStore(name, await places.fresh(name));
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
      const value = quantile(delays, 0.99);
      const whole = gaps === 0 && delays.length === count * EVENTS;
      results.push({
        what,
        store: name,
        value,
        unit: "ms",
        goal: `0 gaps, < ${GOAL_MS} ms`,
        passed: whole && value < GOAL_MS,
        note: `${gaps} gaps, p50 ${quantile(delays, 0.5).toFixed(1)} ms, ${delays.length.toLocaleString("en")} deliveries`,
      });
    } finally {
      stop.abort();
      await store.close();
    }
  }
  return results;
}
