import { type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import type { Result } from "./results.ts";
import { ids, inParallel, newSession, prompt } from "./workload.ts";

const WRITERS = 32;

/**
 * Measures 32 writers, on one session and on 1,000 sessions. Every sequence from 1 to n must be used once, and every
 * event stored once.
 */
export async function benchWriters(
  name: StoreName | "memory",
  {
    places,
    events,
    progress,
  }: { readonly places: Places; readonly events: number; readonly progress: (text: string) => void },
): Promise<Result[]> {
  const results: Result[] = [];
  for (const sessions of [1, 1000]) {
    const what = `${WRITERS} writers on ${sessions === 1 ? "one session" : "1,000 sessions"}`;
    progress(`${name}: ${what}, ${events.toLocaleString("en")} events`);
    const store = await openStore(name, await places.fresh(name));
    try {
      const sessionIds = Array.from({ length: sessions }, () => "");
      await inParallel(sessions, WRITERS, async (index) => {
        sessionIds[index] = await newSession(store);
      });
      const sent = new Map<string, string>();
      const started = performance.now();
      await inParallel(events, WRITERS, async (index) => {
        const sessionId = sessionIds[(index * 7919) % sessions] ?? ids();
        const event = prompt(250);
        sent.set(event.id, sessionId);
        await store.append(sessionId, [event]);
      });
      const seconds = (performance.now() - started) / 1000;
      const faults = { gaps: 0, repeats: 0, lost: 0 };
      for (const sessionId of sessionIds) {
        const log = await store.read(sessionId);
        const sequences = new Set(log.map(({ sequence }) => sequence));
        faults.repeats += log.length - sequences.size;
        faults.gaps += (log.at(-1)?.sequence ?? 0) - sequences.size;
        for (const { id } of log) if (sent.get(id) === sessionId) sent.delete(id);
      }
      faults.lost = sent.size;
      results.push({
        what,
        store: name,
        value: events / seconds,
        unit: "/s",
        goal: "0 gaps, 0 repeats, 0 lost",
        passed: faults.gaps + faults.repeats + faults.lost === 0,
        note: `${faults.gaps} gaps, ${faults.repeats} repeats, ${faults.lost} lost in ${events.toLocaleString("en")}`,
      });
    } finally {
      await store.close();
    }
  }
  return results;
}
