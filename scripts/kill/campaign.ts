import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "./random.ts";
import { type Writer, check, startWriter } from "./child-processes.ts";
import type { Verdict } from "./checker.ts";
import type { Place, StoreName } from "./open-store.ts";

export interface Campaign {
  readonly name: string;
  readonly store: StoreName;
  readonly place: Place;
  readonly cycles: number;
  readonly seed: number;
  /** The folder for the journals. */
  readonly folder: string;
  /** How long a process may write before it is killed. */
  readonly delayMs: readonly [least: number, most: number];
  readonly writers?: number;
  readonly under?: readonly string[];
  /** Called at the moment of the kill. It must end the writer. Default: sends SIGKILL. */
  readonly crash?: (writer: Writer, cycle: number) => Promise<Place | void>;
  readonly progress?: (text: string) => void;
}

export interface Outcome {
  readonly name: string;
  readonly cycles: number;
  readonly acknowledged: number;
  readonly unanswered: number;
  readonly happened: number;
  readonly sessions: number;
  readonly events: number;
  readonly openMs: number;
  readonly violations: readonly string[];
}

/** The share of processes that are killed while they open the store, before they write anything. */
const EARLY = 0.1;
const ENOUGH = 10;

/**
 * Repeatedly kills a writer of a store. After each kill, checks what the killed writer wrote. At the end, checks
 * everything in the store.
 */
export async function runCampaign(campaign: Campaign): Promise<Outcome> {
  const { name, store, cycles, seed, folder, delayMs, writers = 8, under = [], progress = () => {} } = campaign;
  mkdirSync(folder, { recursive: true });
  const random = createRandom(seed);
  const journals: string[] = [];
  const verdicts: Verdict[] = [];
  const violations: string[] = [];
  let { place } = campaign;
  const note = (verdict: Verdict, where: string): void => {
    verdicts.push(verdict);
    violations.push(...verdict.violations.map((sentence) => `${name}, ${where}: ${sentence}`));
  };
  for (let cycle = 0; cycle < cycles && violations.length < ENOUGH; cycle++) {
    const journal = join(folder, `${name}-${cycle}.jsonl`);
    journals.push(journal);
    const writer = startWriter({ store, place, seed: seed * 1000 + cycle, writers }, journal, { under });
    const early = !campaign.crash && random.chance(EARLY);
    if (!early) await begun(writer);
    await sleep(random.between(...delayMs) / (early ? 4 : 1));
    place = (await (campaign.crash ?? killed)(writer, cycle)) ?? place;
    const last = cycle === cycles - 1;
    const verdict = await check({ store, place, journals: last ? journals : [journal], whole: last });
    // The check has repeated the operations that had no answer. The new answers are added to the journal for the final
    // count.
    if (existsSync(journal)) appendFileSync(journal, verdict.repeated.map((line) => `\n${line}\n`).join(""));
    note(verdict, `cycle ${cycle + 1} (seed ${seed})`);
    progress(
      `${name}: ${cycle + 1} of ${cycles}, ${verdict.acknowledged} acknowledged, ${verdict.unanswered} without an answer`,
    );
  }
  return { name, cycles: journals.length, ...totals(verdicts), violations };
}

async function killed(writer: Writer): Promise<void> {
  await writer.kill();
}

function totals(verdicts: readonly Verdict[]): Omit<Outcome, "name" | "cycles" | "violations"> {
  const sum = (of: (verdict: Verdict) => number): number => verdicts.reduce((total, verdict) => total + of(verdict), 0);
  // The last check reads the journals of all cycles.
  const last = verdicts.at(-1);
  return {
    acknowledged: last?.acknowledged ?? 0,
    unanswered: sum((verdict) => verdict.unanswered),
    happened: sum((verdict) => verdict.happened),
    sessions: last?.sessions ?? 0,
    events: last?.events ?? 0,
    openMs: Math.max(...verdicts.map((verdict) => verdict.openMs)),
  };
}

/** Waits until a writer has written something, because an earlier kill would test only the opening of the store. */
async function begun(writer: Writer): Promise<void> {
  await writer.ready;
  for (const end = Date.now() + 60_000; writer.acknowledged() === 0; await sleep(5))
    if (Date.now() > end) throw new Error("The writer has written nothing for 60 s.");
}
