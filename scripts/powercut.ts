/**
 * `npm run powercut`: simulates power failures during writes to a store, and checks that no acknowledged data is lost.
 */
import { printed } from "./kill.ts";
import type { Outcome } from "./kill/campaign.ts";
import { whyNoDisk } from "./powercut/disk.ts";
import { type PowerCutOptions, cutPower } from "./powercut/cut-power.ts";
import { whyNoStrace } from "../bench/store/slow-disk.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run powercut -- [options]

A process writes to a store on an ext4 image behind a loop device. The process is killed, and the image is copied
without a sync, so the copy has only the data that had reached the disk. The copy is mounted (ext4 replays its
journal), the store on it is opened and checked as "npm run kill" does, and the next process writes to this store.
Needs root; unmounts and removes everything, also after Ctrl-C.

In a control run under strace, every fsync returns without doing anything. This run must lose data, which shows that
the check finds losses. Without strace the control run is skipped, and a sentence says so.

  --store NAME    sqlite, filesystem or all (default: all)
  --cuts N        power cuts per store (default: 20)
  --seed S        chooses the moments and what is written (default: the time)
  --quick         writes for 100 to 300 ms instead of 50 to 1,500
  --json          the outcome as JSON

Examples:
  sudo npm run powercut
  sudo npm run powercut -- --cuts 100 --store filesystem`;

const STORES = ["sqlite", "filesystem"] as const;
const CONTROL_CUTS = 3;

async function main(): Promise<void> {
  const { values } = readOptions("powercut", {
    options: {
      store: { type: "string", default: "all" },
      cuts: { type: "string", default: "20" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const stores = STORES.filter((store) => values.store === "all" || values.store === store);
  const [cuts, seed] = [Number(values.cuts), Number(values.seed)];
  if (stores.length === 0)
    throw new Error(`There is no store "${values.store}" here. There are: ${STORES.join(", ")}, all.`);
  if (!Number.isInteger(cuts) || cuts < 1) throw new Error(`--cuts must be a positive number, not ${values.cuts}.`);
  const missing = whyNoDisk();
  if (missing !== undefined) {
    console.error(missing);
    process.exitCode = 2;
    return;
  }
  const common: Omit<PowerCutOptions, "store" | "cuts"> = {
    seed,
    delayMs: values.quick ? [100, 300] : [50, 1500],
    progress: (text) => process.stderr.write(`${text}\n`),
  };
  const outcomes: Outcome[] = [];
  for (const store of stores) outcomes.push(await cutPower({ ...common, store, cuts }));
  const violations = outcomes.flatMap((outcome) => outcome.violations);
  const controls = whyNoStrace() === undefined ? await control(stores, common) : undefined;
  const blind = (controls ?? []).filter((outcome) => outcome.violations.length === 0);

  if (values.json) console.log(JSON.stringify({ seed, outcomes, controls: controls ?? null }));
  else console.log(`\n${printed([...outcomes, ...(controls ?? [])])}\n`);
  for (const violation of violations) console.error(violation);
  for (const { name } of blind) console.error(`The control "${name}" lost nothing, so this test proves nothing.`);
  if (!controls) console.error(`No control: ${whyNoStrace()}`);
  else if (blind.length === 0 && !values.json)
    console.log("The controls without fsync lost acknowledged writes, as they must.");
  process.exitCode = violations.length + blind.length === 0 ? 0 : 1;
}

/** Runs the control, in which the disk ignores fsync. */
async function control(
  stores: readonly PowerCutOptions["store"][],
  common: Omit<PowerCutOptions, "store" | "cuts">,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const store of stores)
    outcomes.push(await cutPower({ ...common, store, cuts: CONTROL_CUTS, delayMs: [300, 600], lying: true }));
  return outcomes;
}

if (import.meta.main) await main();
