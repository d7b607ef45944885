/**
 * `npm run ledger`: compares the recorded usage of model calls that were cancelled, cut off or killed with the
 * simulator's counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runLedgerCampaign } from "./ledger/campaign.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run ledger -- [options]

Runs agents against the simulator. During their model calls, runs are cancelled, connections are cut, agents are
closed, and processes are killed. Afterwards the usage in each log is compared with the simulator's ledger: if the
stream reported its counts, the usage must equal these counts; the usage must never be higher than in the ledger. Ends
with exit code 1 if something differs.

  --troubles N  how many cancels, cuts, closed agents and kills together (default: 1000)
  --seed S      chooses the moments (default: the time)`;

const { values } = readOptions("ledger", {
  options: { troubles: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const troubles = Number(values.troubles ?? 1000);
const seed = Number(values.seed ?? Date.now() % 1e9);
const folder = mkdtempSync(join(tmpdir(), "skein-ledger-"));
const kills = Math.floor(troubles / 5);
const stops = Math.min(50, Math.floor(troubles / 10));
const cuts = Math.floor((troubles - kills - stops) / 2);
const began = performance.now();
try {
  const store = `sqlite:${join(folder, "skein.db")}`;
  const outcome = await runLedgerCampaign({
    cancels: troubles - kills - stops - cuts,
    cuts,
    kills,
    stops,
    seed,
    store,
  });
  const { sessions, calls, broken, told, violations } = outcome;
  console.log(
    `${sessions} sessions, ${calls} model calls, ${broken} without a complete answer, ${told} of these with usage from the stream; ` +
      `${violations.length} violations; seed ${seed}; ${((performance.now() - began) / 1000).toFixed(0)} s`,
  );
  for (const violation of violations.slice(0, 20)) console.log(violation);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
