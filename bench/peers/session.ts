/**
 * Measures one program: starts it in its own folder, lets it make sessions, kills it during a tool call, and restarts
 * it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { script } from "@skein/simulator";
import { runIn } from "../../scripts/pack-packages.ts";
import type { Peer } from "./peers.ts";

const PROGRAMS = join(import.meta.dirname, "programs");

/** One call of a tool, then an answer: two model calls. */
const STEPS = [
  { text: "Let me add.", tools: [{ name: "add", input: { a: 2, b: 2 } }] },
  { text: "The sum of the two numbers is four, as everybody knows who has learnt to add." },
];

/** How long a program may take to resume after a crash. After that it counts as not resuming. */
const PATIENCE_MS = 45_000;

export interface Measured {
  readonly times: readonly number[];
  readonly seconds: number;
  /** The processor time of all sessions together. */
  readonly processorMs: number;
  readonly megabytes: number;
}

/** `secondsUntilAnswer` counts from the start of the new process; undefined if there was no answer. */
export interface Crashed {
  readonly secondsUntilAnswer: number | undefined;
  readonly effects: number;
}

/** Installs a peer in its own folder, unless it is installed already. Returns its version. */
export function installPeer(place: string, { packages, program }: Peer): string {
  const [shown] = packages;
  const folder = join(place, program);
  // The programs without npm packages (Skein and `fetch`) run in place, from the sources.
  if (shown === undefined) return "this tree";
  if (!existsSync(join(folder, "node_modules"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "peer", private: true, type: "module" }));
    const latest = packages.map((name) => `${name}@latest`);
    runIn(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", ...latest);
  }
  for (const file of ["harness.mjs", `${program}.mjs`]) copyFileSync(join(PROGRAMS, file), join(folder, file));
  const manifest = readFileSync(join(folder, "node_modules", shown, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

export async function measurePeer(where: Where, count: number, concurrency: number): Promise<Measured> {
  return withData(where, async (folder) => {
    const { child, result } = startProgram(where, { FOLDER: folder }, ["measure", String(count), String(concurrency)]);
    const measured = await Promise.race([result, once(child, "exit").then(() => result)]);
    return measured as Measured;
  });
}

export async function killPeer(where: Where): Promise<Crashed> {
  return withData(where, async (folder) => {
    const label = `kill-${where.peer.name}-${Date.now()}`;
    const effects = join(folder, "effects");
    const env = { FOLDER: folder, EFFECTS: effects, PROMPT: `Add them. ${script(STEPS, label)}` };
    const first = startProgram(where, env, ["hang"]);
    const firstEnd = once(first.child, "exit");
    await until(() => existsSync(effects), 30_000);
    first.child.kill("SIGKILL");
    await firstEnd;
    const started = performance.now();
    const second = startProgram(where, env, ["go-on"]);
    const cannot = second.result.then((said) => "cannot" in said);
    const answered = until(() => isAnswered(where.simulator, label), PATIENCE_MS);
    const wentOn = await Promise.race([answered, cannot.then((says) => (says ? false : answered))]);
    const seconds = (performance.now() - started) / 1000;
    // The program may repeat the effect after it has asked the model for the answer.
    await sleep(200);
    second.child.kill("SIGKILL");
    const happened = readFileSync(effects, "utf8").trim().split("\n").length;
    return { secondsUntilAnswer: wentOn ? seconds : undefined, effects: happened };
  });
}

export interface Where {
  readonly peer: Peer;
  readonly place: string;
  readonly simulator: string;
}

interface Started {
  readonly child: ChildProcess;
  /** The result that the program prints. Rejects if the program ends without a result. */
  readonly result: Promise<Measured | { readonly cannot: true }>;
}

function startProgram(
  { peer, place, simulator }: Where,
  env: Record<string, string>,
  args: readonly string[],
): Started {
  const isOurs = peer.packages.length === 0;
  const file = join(isOurs ? PROGRAMS : join(place, peer.program), `${peer.program}.mjs`);
  const flags = [...(isOurs ? ["--conditions=@skein/source"] : []), "--disable-warning=ExperimentalWarning"];
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [...flags, file, ...args], {
    cwd: isOurs ? PROGRAMS : join(place, peer.program),
    env: { PATH, HOME, PROMPT: `Add them. ${script(STEPS, "peers")}`, SIMULATOR: simulator, ...peer.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr.on("data", (piece: Buffer) => (complaint = `${complaint}${piece.toString()}`.slice(-2000)));
  const result = new Promise<Measured | { readonly cannot: true }>((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => {
      if (line.startsWith("RESULT ")) resolve(JSON.parse(line.slice(7)) as Measured);
    });
    child.once("exit", () => reject(new Error(`${peer.name} ended without a result. ${complaint}`)));
  });
  // The measurement that kills the program ignores its result, so a rejection must not go unhandled.
  result.catch(() => {});
  return { child, result };
}

async function withData<Result>(where: Where, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(where.place, "data-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the last model call of the session was answered. */
async function isAnswered(simulator: string, label: string): Promise<boolean> {
  const query = new URLSearchParams({ label, outcome: "answered" });
  const answer = (await (await fetch(`${simulator}/simulator/ledger?${query}`)).json()) as {
    readonly calls: readonly { readonly stopReason: string | null }[];
  };
  return answer.calls.some(({ stopReason }) => stopReason === "end_turn");
}

async function until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await condition()) return true;
    await sleep(20);
  }
  return false;
}
