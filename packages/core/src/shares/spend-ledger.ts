import { isKnownError } from "@skein/protocol";
import { z } from "zod";
import type { Records } from "../ports/records.ts";
import { dollars } from "../run/budget.ts";
import type { Cap } from "./caps.ts";

/**
 * Counts what API keys, agents and tenants have spent today (UTC), in all processes of a store. Money is reserved
 * before a call and settled after it, so that concurrent calls together cannot exceed a cap. Amounts are pico-dollars.
 *
 * A reservation also has the total spending of its session before the call. After a process was killed, the next
 * process subtracts this amount from the total in the log, and so knows what was spent since.
 */
export interface SpendLedger {
  /** Reserves the highest possible cost of a call under all caps. If one cap has no money left, reserves nothing. */
  reserve(caller: Spender, caps: readonly Cap[], most: bigint): Promise<Reserved>;
  /**
   * Records that the session has spent `spent` in total. Releases the reservation and counts what the session has spent
   * since.
   */
  settle(spender: Spender, caps: readonly Cap[]): Promise<void>;
  /** Returns a refusal if a run may not spend more, and a question if people must agree first. */
  standing(caps: readonly Cap[]): Promise<SpendStanding>;
  /** Records that people allowed the whole cap to be used today. Returns what `asked` recorded today. */
  allow(scope: string): Promise<readonly string[]>;
  /** Records a question of a session about a cap. `sessionId` may end with a space and the id of the question. */
  asked(scope: string, sessionId: string): Promise<void>;
}

/** What was spent under a cap on one day, and what is reserved for calls in progress. */
export interface SpentToday {
  readonly spent: bigint;
  readonly reserved: bigint;
  /** Whether people allowed the whole cap to be used. */
  readonly isAllowed: boolean;
}

export async function spentToday(records: Records, { scope }: Pick<Cap, "scope">, now: number): Promise<SpentToday> {
  const found = await records.get(PLACE.tenant, PLACE.kind, dayId(scope, now));
  const day = found ? Day.parse(found.value) : NOTHING;
  return { spent: BigInt(day.spent), reserved: total(day) - BigInt(day.spent), isAllowed: day.isAllowed };
}

/** A session and its total spending so far. */
interface Spender {
  readonly sessionId: string;
  readonly spent: bigint;
  /** Identifies one of several concurrent calls of a session. */
  readonly call?: string;
}

interface SpendStanding {
  readonly refusal?: string;
  readonly ask?: SpendQuestion;
}

export interface SpendQuestion {
  readonly scope: string;
  readonly sentence: string;
}

/**
 * `granted`: `picos` may be spent, which can be less than requested. `busy`: other calls have reserved the rest, and
 * will release some of it. `ask`, `refused`: see `standing`.
 */
type Reserved =
  | { readonly kind: "granted"; readonly picos: bigint }
  | { readonly kind: "busy"; readonly sentence: string }
  | { readonly kind: "ask" }
  | { readonly kind: "refused"; readonly sentence: string };

const PLACE = { tenant: "$shares", kind: "spend" } as const;
const Amount = z.string().regex(/^-?\d+$/);
const Day = z.object({
  spent: Amount,
  /** The reservations, by session id. If a call has a name, the name is part of the key. */
  reserved: z.record(z.string(), z.object({ picos: Amount, before: Amount })),
  isAllowed: z.boolean(),
  asking: z.array(z.string()),
});
type Day = z.infer<typeof Day>;
const NOTHING: Day = { spent: "0", reserved: {}, isAllowed: false, asking: [] };

const SPENDING_DAYS = 365;
const DAY_MS = 86_400_000;

interface LedgerDeps {
  readonly records: Records;
  readonly now: () => number;
}

export function createSpendLedger({ records, now }: LedgerDeps): SpendLedger {
  let changing: Promise<unknown> = Promise.resolve();
  const idOf = (scope: string): string => dayId(scope, now());

  /**
   * Changes the records of all these caps, or of none. Makes one change at a time, because the store would reject
   * concurrent changes.
   */
  function change<Answer>(
    scopes: readonly string[],
    how: (days: readonly Day[]) => { readonly days?: readonly Day[]; readonly answer: Answer },
  ): Promise<Answer> {
    const work = async (): Promise<Answer> => {
      for (;;) {
        const found = await Promise.all(scopes.map((scope) => records.get(PLACE.tenant, PLACE.kind, idOf(scope))));
        const { days, answer } = how(found.map((record) => (record ? Day.parse(record.value) : NOTHING)));
        if (!days || scopes.length === 0) return answer;
        const puts = scopes.map((scope, index) => ({
          ...PLACE,
          id: idOf(scope),
          value: days[index],
          expect: found[index]?.version ?? 0,
        }));
        try {
          await records.put(puts);
          return answer;
        } catch (error) {
          if (!isKnownError(error, "conflict", "already_exists")) throw error;
        }
      }
    };
    const mine = changing.then(work, work);
    changing = mine.catch(() => undefined);
    return mine;
  }

  const scopesOf = (caps: readonly Cap[]): readonly string[] => caps.map(({ scope }) => scope);

  return {
    reserve: (spender, caps, most) =>
      change<Reserved>(scopesOf(caps), (found) => {
        const days = found.map((day) => settled(day, spender));
        const problem = caps.map((cap, index) => problemOf(cap, days[index] ?? NOTHING)).find(Boolean);
        if (problem) return { days, answer: problem };
        const left = caps.map((cap, index) => (cap.spend ?? 0n) - total(days[index] ?? NOTHING));
        const least = left.reduce((a, b) => (b < a ? b : a), most);
        const tight = caps[left.findIndex((each) => each === least)];
        const others = days.some((day) => Object.keys(day.reserved).length > 0);
        if (least < most && others && tight)
          return { days, answer: { kind: "busy", sentence: reservedByOthers(tight) } };
        const entry = { picos: String(least), before: String(spender.spent) };
        return {
          days: days.map((day) => ({ ...day, reserved: { ...day.reserved, [nameOf(spender)]: entry } })),
          answer: { kind: "granted", picos: least },
        };
      }),
    settle: (spender, caps) =>
      change(scopesOf(caps), (found) => {
        const days = found.map((day) => settled(day, spender));
        return { ...(days.some((day, index) => day !== found[index]) && { days }), answer: undefined };
      }),
    standing: (caps) =>
      change<SpendStanding>(scopesOf(caps), (days) => {
        for (const [index, cap] of caps.entries()) {
          const day = days[index] ?? NOTHING;
          const problem = problemOf(cap, day);
          if (problem?.kind === "refused") return { answer: { refusal: problem.sentence } };
          if (problem?.kind === "ask") return { answer: { ask: { scope: cap.scope, sentence: question(cap, day) } } };
        }
        return { answer: {} };
      }),
    allow: (scope) =>
      change([scope], ([day = NOTHING]) => ({ days: [{ ...day, isAllowed: true, asking: [] }], answer: day.asking })),
    asked: (scope, sessionId) =>
      change([scope], ([day = NOTHING]) => ({
        days: [{ ...day, asking: [...new Set([...day.asking, sessionId])] }],
        answer: undefined,
      })),
  };
}

/**
 * Removes records of days that are too old. Caps need only the current day, and usage is computed from the logs of the
 * sessions.
 */
export async function sweepSpending(
  records: Records,
  { now, keepDays = SPENDING_DAYS }: { readonly now: number; readonly keepDays?: number | undefined },
): Promise<void> {
  const oldest = new Date(now - keepDays * DAY_MS).toISOString().slice(0, 10);
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<Records["list"]>> = await records.list({
      ...PLACE,
      limit: 200,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id } of page.items) if (id < oldest) await records.delete(PLACE.tenant, PLACE.kind, id);
    ({ cursor } = page);
  }
}

/** One record per day: caps start again at midnight (UTC). */
function dayId(scope: string, now: number): string {
  return `${new Date(now).toISOString().slice(0, 10)} ${scope}`;
}

/** Releases the reservation of this spender and counts its spending. */
function settled(day: Day, spender: Spender): Day {
  const { [nameOf(spender)]: entry, ...reserved } = day.reserved;
  // Without a reservation, only the cost of a named call is counted.
  if (!entry && (spender.call === undefined || spender.spent === 0n)) return day;
  const since = spender.spent - BigInt(entry?.before ?? 0n);
  return { ...day, reserved, spent: String(BigInt(day.spent) + (since > 0n ? since : 0n)) };
}

function nameOf({ sessionId, call }: Spender): string {
  return call === undefined ? sessionId : `${sessionId} ${call}`;
}

function total({ spent, reserved }: Day): bigint {
  return Object.values(reserved).reduce((sum, { picos }) => sum + BigInt(picos), BigInt(spent));
}

function problemOf(cap: Cap, day: Day): Extract<Reserved, { kind: "ask" | "refused" }> | undefined {
  const { of, spend = 0n, askAt } = cap;
  const spent = BigInt(day.spent);
  if (spent >= spend)
    return {
      kind: "refused",
      sentence: `The ${of} may spend ${dollars(spend)} a day, and ${dollars(spent)} is spent. It may spend again after midnight (UTC).`,
    };
  return askAt !== undefined && spent >= askAt && !day.isAllowed ? { kind: "ask" } : undefined;
}

function reservedByOthers({ of }: Cap): string {
  return `The ${of} cannot spend more for now: calls in progress have reserved the rest of its daily cap.`;
}

function question({ of, spend = 0n }: Cap, { spent }: Day): string {
  return `The ${of} has spent ${dollars(BigInt(spent))} of the ${dollars(spend)} that it may spend today. May its runs continue until the limit?`;
}
