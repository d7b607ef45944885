/** `npm run bench -- peers`: Skein compared with other libraries, in one run on one machine. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startSimulator } from "./loop/simulator.ts";
import { PEERS, type Peer } from "./peers/peers.ts";
import { type Crashed, type Measured, type Where, installPeer, killPeer, measurePeer } from "./peers/session.ts";
import { median, quantile } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "Skein compared with Flue, Mastra and the AI SDK: latency, sessions per second, memory, and kill -9 during a tool call";

const HELP = `npm run bench -- peers [options]

Installs Flue, Mastra and the AI SDK with npm in a temporary folder. Each of them and Skein makes new sessions with one
prompt and one tool call (two model calls) against the same simulator, first one session at a time, then 32 at once,
and is killed with kill -9 while its tool runs. Prints two tables in Markdown (durable, not durable), with versions and the date.

  --in FOLDER    installs there, unless it is installed there already (default: a temporary folder)
  --only NAME    only peers whose name contains this; may be given more than once
  --rounds N     the number of rounds, each in a new process; the median is printed (default: 3)
  --quick        one round with fewer sessions

Examples:
  npm run bench -- peers
  npm run bench -- peers --only Skein --only Flue --quick`;

interface Row {
  readonly peer: Peer;
  version: string;
  readonly alone: Measured[];
  readonly together: Measured[];
  crashed?: Crashed;
  problem?: string;
}

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- peers", {
    args: [...args],
    options: {
      in: { type: "string" },
      only: { type: "string", multiple: true, default: [""] },
      rounds: { type: "string", default: "3" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const place = values.in === undefined ? mkdtempSync(join(tmpdir(), "skein-peers-")) : resolve(values.in);
  mkdirSync(place, { recursive: true });
  const simulator = await startSimulator();
  try {
    const peers = PEERS.filter(({ name }) => values.only.some((part) => name.includes(part)));
    const rows = peers.map((peer): Row => ({ peer, version: "", alone: [], together: [] }));
    for (const row of rows) await attempt(row, async () => void (row.version = installPeer(place, row.peer)));
    const rounds = values.quick ? 1 : Number(values.rounds);
    for (let round = 0; round < rounds; round++)
      for (const row of rows) await measure(row, { peer: row.peer, place, simulator: simulator.url }, values.quick);
    for (const row of rows)
      await attempt(row, async () => {
        row.crashed = await killPeer({ peer: row.peer, place, simulator: simulator.url });
      });
    console.log(printed(rows, rounds));
    return rows.every(({ problem }) => problem === undefined);
  } finally {
    await simulator.close();
    if (values.in === undefined) rmSync(place, { recursive: true, force: true });
  }
}

async function measure(row: Row, where: Where, isQuick: boolean): Promise<void> {
  await attempt(row, async () => {
    row.alone.push(await measurePeer(where, isQuick ? 30 : 100, 1));
    row.together.push(await measurePeer(where, isQuick ? 96 : 320, 32));
  });
  console.error(`measured: ${row.peer.name}`);
}

/** If a peer cannot be installed or fails, its row gets the reason, and the next peer is measured. */
async function attempt(row: Row, work: () => Promise<void>): Promise<void> {
  if (row.problem !== undefined) return;
  try {
    await work();
  } catch (error) {
    row.problem = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "failed";
  }
}

function printed(rows: readonly Row[], rounds: number): string {
  const head =
    "| | version | one at a time, p50 (p95) | 32 at once | memory after | after kill -9 in a tool call: continues after | effects repeated |\n|---|---|---|---|---|---|---|";
  const part = (title: string, isDurable: boolean): string =>
    [`**${title}**`, "", head, ...rows.filter(({ peer }) => peer.isDurable === isDurable).map(line)].join("\n");
  const day = new Date().toISOString().slice(0, 10);
  return `Measured on ${day}, Node ${process.versions.node}, ${rounds} rounds.\n\n${part("Durable", true)}\n\n${part("Not durable", false)}`;
}

function line({ peer, version, alone, together, crashed, problem }: Row): string {
  if (problem !== undefined) return `| ${peer.name} | ${version} | could not be measured: ${problem} | | | | |`;
  const p50 = median(alone.map(({ times }) => median(times)));
  const p95 = median(alone.map(({ times }) => quantile(times, 0.95)));
  const rate = median(together.map(({ times, seconds }) => times.length / seconds));
  const megabytes = median(together.map((one) => one.megabytes));
  const cells = [
    peer.name,
    version,
    `${p50.toFixed(1)} ms (${p95.toFixed(1)})`,
    `${Math.round(rate)} sessions/s`,
    `${Math.round(megabytes)} MB`,
    crashed?.secondsUntilAnswer === undefined ? "no" : `${crashed.secondsUntilAnswer.toFixed(1)} s`,
    crashed === undefined ? "" : String(crashed.effects - 1),
  ];
  return `| ${cells.join(" | ")} |`;
}
