/**
 * The part of `npm run kill` for the agent loop (Skein's own calls of models and tools). It kills workers that run
 * sessions. Afterwards the log, the effects and the model's calls must agree.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { table } from "../../bench/table.ts";
import { createDatabase, startPostgres } from "../postgres.ts";
import { type LoopOutcome, runLoopCampaign } from "./loop-campaign.ts";
import type { AdapterName } from "./loop-models.ts";

export interface LoopKillOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly on: "sqlite" | "postgres" | "all";
  readonly adapters: readonly AdapterName[];
  readonly progress?: (text: string) => void;
}

/** Runs the campaign on sqlite, on postgres, and on a postgres server that crashes and restarts between the kills. */
export async function killLoop(options: LoopKillOptions): Promise<readonly LoopOutcome[]> {
  const { cycles, seed, on, adapters, progress } = options;
  const folder = mkdtempSync(join(tmpdir(), "skein-kill-loop-"));
  const outcomes: LoopOutcome[] = [];
  try {
    for (const adapter of adapters) {
      const common = { cycles, seed, adapter, ...(progress && { progress }) };
      const place = { folder: join(folder, `sqlite-${adapter}`) };
      if (on !== "postgres") outcomes.push(await runLoopCampaign({ ...common, store: "sqlite", place }));
      if (on !== "sqlite") outcomes.push(...(await onPostgres(common, folder)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return outcomes;
}

async function onPostgres(
  common: { readonly cycles: number; readonly seed: number; readonly adapter: AdapterName },
  folder: string,
): Promise<readonly LoopOutcome[]> {
  const server = await startPostgres({ settings: {}, prefix: "skein-kill-pg-" });
  try {
    const fresh = async () => ({ folder, url: (await createDatabase(server.url)).url });
    const plain = await runLoopCampaign({ ...common, store: "postgres", place: await fresh() });
    let crashes = 0;
    const disturb = async (): Promise<void> => {
      await server.crash();
      await sleep(((crashes += 1) % 3) * 300);
      await server.start();
    };
    const cycles = Math.ceil(common.cycles / 5);
    const shaken = await runLoopCampaign({ ...common, cycles, store: "postgres", place: await fresh(), disturb });
    return [plain, { ...shaken, store: "postgres, server crashed too" }];
  } finally {
    await server.stop();
  }
}

export function printedLoop(outcomes: readonly LoopOutcome[]): string {
  const number = (value: number): string => value.toLocaleString("en");
  return table(
    [
      "on",
      "model",
      "kills",
      "prompts",
      "events",
      "effects",
      "unknown",
      "model calls",
      "given up",
      "slowest resume",
      "violations",
    ],
    outcomes.map((outcome) => [
      outcome.store,
      outcome.adapter,
      number(outcome.kills),
      number(outcome.prompts),
      number(outcome.events),
      number(outcome.effects),
      number(outcome.unknown),
      number(outcome.modelCalls),
      number(outcome.abandoned),
      `${number(outcome.slowestResumeMs)} ms`,
      number(outcome.violations.length),
    ]),
  );
}
