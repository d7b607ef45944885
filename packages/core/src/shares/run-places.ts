import { isKnownError } from "@skein/protocol";
import { z } from "zod";
import type { Records } from "../ports/records.ts";
import type { Store } from "../ports/store.ts";
import type { Cap } from "./caps.ts";

/**
 * Limits how many runs of an API key, agent or tenant are in progress at the same time, in all processes of a store.
 * Runs above a cap wait in a queue, in the order of arrival.
 */
export interface RunPlaces {
  /**
   * Takes a place under every cap. If a cap has no free place, takes no place and joins the queue of this cap. A
   * session that already has its places keeps them.
   */
  enter(sessionId: string, caps: readonly Cap[]): Promise<Standing | undefined>;
  /** Frees the places of a session. Returns the sessions whose turn has come. */
  leave(sessionId: string, caps: readonly Cap[]): Promise<readonly string[]>;
}

/** The position of a session in a queue. */
export interface Standing {
  /** 1 is next. */
  readonly place: number;
  /** What the session waits for, as a sentence. */
  readonly reason: string;
}

const PLACE = { tenant: "$shares", kind: "run-places" } as const;
const Entry = z.object({ session: z.string(), at: z.number() });
const RunLine = z.object({ of: z.string(), most: z.number(), running: z.array(Entry), waiting: z.array(Entry) });
export type RunLine = z.infer<typeof RunLine>;

/** The most sessions that the queue stores. Further sessions ask again later. */
const LONGEST_LINE = 1000;
/**
 * How often to look for sessions that have a place but no longer exist. A session is checked only after it has had its
 * place for `YOUNG_MS`.
 */
const LOOK_AGAIN_MS = 2000;
const YOUNG_MS = 10_000;

export function createRunPlaces({ store, now }: { readonly store: Store; readonly now: () => number }): RunPlaces {
  const { records } = store;
  /** Queues are changed one at a time in this process, because the store would reject concurrent changes. */
  let changing: Promise<unknown> = Promise.resolve();
  const lookedAt = new Map<string, number>();

  /**
   * Changes all queues or no queue. Tries again if another process changed a queue first. If `how` returns undefined
   * for a queue, this queue stays unchanged.
   */
  async function change<Answer>(
    caps: readonly Cap[],
    how: (lines: readonly RunLine[]) => { readonly lines: readonly (RunLine | undefined)[]; readonly answer: Answer },
  ): Promise<Answer> {
    for (;;) {
      const found = await Promise.all(caps.map(({ scope }) => records.get(PLACE.tenant, PLACE.kind, scope)));
      const { lines, answer } = how(caps.map((cap, index) => lineOf(cap, found[index]?.value)));
      const puts = caps.flatMap(({ scope }, index) => {
        const value = lines[index];
        return value ? [{ ...PLACE, id: scope, value, expect: found[index]?.version ?? 0 }] : [];
      });
      try {
        if (puts.length > 0) await records.put(puts);
        return answer;
      } catch (error) {
        if (!isKnownError(error, "conflict", "already_exists")) throw error;
      }
    }
  }

  function inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const mine = changing.then(work, work);
    changing = mine.catch(() => undefined);
    return mine;
  }

  async function enter(sessionId: string, caps: readonly Cap[]): Promise<Standing | undefined> {
    return change(caps, (lines) => {
      const isIn = lines.map(({ running }) => running.some(({ session }) => session === sessionId));
      const ahead = lines.map((line) => placeIn(line, sessionId) - 1);
      const mayGo = lines.map((line, index) => isIn[index] || (ahead[index] ?? 0) < line.most - line.running.length);
      const entry = { session: sessionId, at: now() };
      if (mayGo.every(Boolean)) {
        const entered = lines.map((line, index) =>
          isIn[index] ? undefined : { ...without(line, sessionId), running: [...line.running, entry] },
        );
        return { lines: entered, answer: undefined };
      }
      const blocked = mayGo.findIndex((may) => !may);
      const answer = lines[blocked] && standingIn(lines[blocked], (ahead[blocked] ?? 0) + 1);
      const standing = lines.map((line, index) => {
        const isKnown = line.waiting.some(({ session }) => session === sessionId);
        if (mayGo[index] || isKnown || line.waiting.length >= LONGEST_LINE) return undefined;
        return { ...line, waiting: [...line.waiting, entry] };
      });
      return { lines: standing, answer };
    });
  }

  /** Removes sessions that were deleted, or whose process was killed before it could record the end of the run. */
  async function removeGone(cap: Cap): Promise<boolean> {
    if (now() - (lookedAt.get(cap.scope) ?? -Infinity) < LOOK_AGAIN_MS) return false;
    lookedAt.set(cap.scope, now());
    const found = await records.get(PLACE.tenant, PLACE.kind, cap.scope);
    const line = lineOf(cap, found?.value);
    const gone = new Set<string>();
    for (const { session, at } of line.running) {
      const status = now() - at < YOUNG_MS ? "running" : (await store.get(session))?.status;
      if (status !== "running") gone.add(session);
    }
    for (const { session } of line.waiting.slice(0, line.most)) if (!(await store.get(session))) gone.add(session);
    if (gone.size === 0) return false;
    await change([cap], ([current]) => ({
      lines: [current && [...gone].reduce((rest, session) => without(rest, session), current)],
      answer: undefined,
    }));
    return true;
  }

  return {
    enter: (sessionId, caps) =>
      inTurn(async () => {
        const standing = await enter(sessionId, caps);
        if (!standing) return undefined;
        const removed = await Promise.all(caps.map(removeGone));
        return removed.some(Boolean) ? enter(sessionId, caps) : standing;
      }),
    leave: (sessionId, caps) =>
      inTurn(() =>
        change(caps, (lines) => {
          const left = lines.map((line) => without(line, sessionId));
          const next = left.flatMap(({ waiting, most, running }) =>
            waiting.slice(0, Math.max(0, most - running.length)),
          );
          return {
            lines: left.map((line, index) => (isSame(line, lines[index]) ? undefined : line)),
            answer: [...new Set(next.map(({ session }) => session))],
          };
        }),
      ),
  };
}

/** The position of a session in the queue of any cap; undefined if it does not wait. */
export async function queuedRun(records: Records, sessionId: string): Promise<Standing | undefined> {
  for await (const { line } of storedLines(records)) {
    const at = line.waiting.findIndex(({ session }) => session === sessionId);
    if (at !== -1) return standingIn(line, at + 1);
  }
  return undefined;
}

/** Returns the running and waiting runs of every cap, by the scope of the cap. */
export async function runLines(records: Records): Promise<Readonly<Record<string, RunLine>>> {
  const found: Record<string, RunLine> = {};
  for await (const { scope, line } of storedLines(records)) found[scope] = line;
  return found;
}

async function* storedLines(records: Records): AsyncGenerator<{ readonly scope: string; readonly line: RunLine }> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<Records["list"]>> = await records.list({
      ...PLACE,
      limit: 200,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id, value } of page.items) yield { scope: id, line: RunLine.parse(value) };
    ({ cursor } = page);
  }
}

export async function runLine(records: Records, cap: Cap): Promise<RunLine> {
  return lineOf(cap, (await records.get(PLACE.tenant, PLACE.kind, cap.scope))?.value);
}

function lineOf({ of, runs = Infinity }: Cap, value: unknown): RunLine {
  const known = value === undefined ? { running: [], waiting: [] } : RunLine.parse(value);
  // The operator may have changed the cap since the queue was stored.
  return { ...known, of, most: runs };
}

function without(line: RunLine, sessionId: string): RunLine {
  const others = (entries: RunLine["running"]) => entries.filter(({ session }) => session !== sessionId);
  return { ...line, running: others(line.running), waiting: others(line.waiting) };
}

function isSame(one: RunLine, other: RunLine | undefined): boolean {
  return one.running.length === other?.running.length && one.waiting.length === other.waiting.length;
}

function placeIn({ waiting }: RunLine, sessionId: string): number {
  const at = waiting.findIndex(({ session }) => session === sessionId);
  return (at === -1 ? waiting.length : at) + 1;
}

function standingIn({ of, most, running }: RunLine, place: number): Standing {
  const runs = most === 1 ? "1 run" : `${most} runs`;
  return {
    place,
    reason: `The ${of} may have ${runs} at the same time, and ${running.length} ${running.length === 1 ? "is" : "are"} running.`,
  };
}
