/**
 * `npm run cluster:test` runs a whole cluster on this machine, and breaks one part after the other. At the end it
 * prints the list of violations.
 */
import { runChaos } from "./cluster/chaos.ts";
import { readOptions } from "./read-options.ts";

/**
 * The pause after each answer is this time multiplied by the number of sessions: about ten prompts per second in total.
 */
const THINK_MS = 100;

const { values } = readOptions("cluster:test", {
  options: {
    sessions: { type: "string", default: "200" },
    claude: { type: "string", default: "6" },
    prompts: { type: "string", default: "3" },
    think: { type: "string" },
    strikes: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    settle: { type: "string", default: "90" },
    only: { type: "string", multiple: true },
    help: { type: "boolean", short: "h" },
  },
});
if (values.help) {
  console.log(`npm run cluster:test [-- --sessions 200 --claude 6 --prompts 3 --think 20000 --strikes 30 --seed 1 --settle 90 --only "kill -9 worker"]

Starts the cluster of "npm run cluster", gives it sessions with tools whose effects are counted, and kills one process every
few seconds, flushes Redis, restarts and stops PostgreSQL, and cuts connections ("links"). Then the logs, the clients'
responses and the effects are compared, and every violated invariant is printed.`);
  process.exit(0);
}
const began = Date.now();
const seconds = (ms = 0): string => (ms / 1000).toFixed(1);
const say = (line: string): void =>
  console.log(`${new Date().toISOString().slice(11, 23)} ${seconds(Date.now() - began).padStart(6)} s  ${line}`);
const outcome = await runChaos({
  sessions: Number(values.sessions),
  claude: Number(values.claude),
  prompts: Number(values.prompts),
  thinkMs: Number(values.think ?? Number(values.sessions) * THINK_MS),
  strikes: Number(values.strikes),
  seed: Number(values.seed),
  everyMs: [1500, 4000],
  postgresDownMs: 10_000,
  settleMs: Number(values.settle) * 1000,
  say,
  ...(values.only && { only: values.only }),
});
for (const { invariant, sentence } of outcome.violations.slice(0, 20)) console.log(`${invariant}: ${sentence}`);
const longest = [
  ["The longest stalls", outcome.worstStalls],
  ["The longest stalls of Claude Code", outcome.worstClaudeStalls],
  ["The longest times until a request was accepted, with its retries", outcome.worstRequests],
  ["The longest times until an event reached its reader", outcome.worstDeliveries],
] as const;
for (const [title, waits] of longest) {
  console.log(`${title} (without outages of PostgreSQL):`);
  for (const { ms, where } of waits) console.log(`  ${seconds(ms)} s: ${where}`);
}
console.log(
  `${outcome.struck.length} faults, ${outcome.accepted} prompts accepted, ${outcome.answered} answered, ${outcome.effects} effects, ` +
    `worst stall ${seconds(outcome.worstStalls[0]?.ms)} s (Claude Code ${seconds(outcome.worstClaudeStalls[0]?.ms)} s), ` +
    `worst request ${seconds(outcome.worstRequests[0]?.ms)} s, worst delivery ${seconds(outcome.worstDeliveries[0]?.ms)} s, ${outcome.violations.length} violations`,
);
process.exit(outcome.violations.length === 0 ? 0 : 1);
