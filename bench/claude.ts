/** `npm run bench -- claude`: compares the cost of Claude Code over the API with the Claude Agent SDK alone. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { script } from "@skein/simulator";
import { type BareSession, bareSession } from "./claude/bare-sdk.ts";
import { killed } from "./claude/killed-server.ts";
import { wallCosts } from "./claude/wall-costs.ts";
import { type ServedClaude, cpuOf, descendants, pssOf, serveClaude } from "./claude/claude-server.ts";
import { startSimulator } from "./loop/simulator.ts";
import { type Result, median, printed, quantile } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "Claude Code over the API compared with the bare SDK: first event, warm turns, memory, readers, kill -9, walls";

const PARTS = ["first", "warm", "memory", "readers", "interrupt", "kill", "walls"] as const;
const HELP = `npm run bench -- claude [options]

The server runs in its own process, with the real SDK binary, and calls the simulator. Ends with 1 if a goal was missed.

  --part NAME   ${PARTS.join(", ")}; may be given more than once (default: all)
  --quick       fewer sessions and shorter rounds
  --json        the results as JSON

Examples:
  npm run bench -- claude
  npm run bench -- claude --part first --part warm --quick`;

const store = "sqlite";
const HELLO = `Say hello. ${script([{ text: "Hello." }])}`;
/** A prompt with an answer of five minutes, so that the answer lasts longer than the measurement. */
const LONG = `Speak. ${script([{ text: "Word. ".repeat(1500), chunk: 6, chunkDelayMs: 200 }])}`;
/** A prompt that keeps a session busy without output, so that the measured memory does not grow with time. */
const THINKING = `Think. ${script([{ text: "Later.", delayMs: 600_000 }])}`;

interface Bench {
  readonly folder: () => string;
  readonly apiUrl: string;
  readonly quick: boolean;
}

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- claude", {
    args: [...args],
    options: {
      part: { type: "string", multiple: true, default: [...PARTS] },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const simulator = await startSimulator();
  const home = mkdtempSync(join(tmpdir(), "skein-bench-claude-"));
  let folders = 0;
  const folder = (): string => {
    const path = join(home, String((folders += 1)));
    mkdirSync(path);
    return path;
  };
  // Caches compiled files, so that the server strips no types, like a published package. Stripping costs 20 MB of memory.
  process.env["NODE_COMPILE_CACHE"] ??= folder();
  const bench: Bench = { folder, apiUrl: simulator.url, quick: values.quick };
  const parts: Record<(typeof PARTS)[number], (bench: Bench) => Promise<readonly Result[]>> = {
    first: firstEvents,
    warm: warmTurns,
    memory,
    readers,
    interrupt,
    kill: killed,
    walls: wallCosts,
  };
  const results: Result[] = [];
  try {
    for (const part of PARTS) if (values.part.includes(part)) results.push(...(await parts[part](bench)));
  } finally {
    await simulator.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

/**
 * Measures the time from the request to the first event of a new session. The process is new, or the server has started
 * it in advance.
 */
async function firstEvents({ folder, apiUrl, quick }: Bench): Promise<readonly Result[]> {
  const server = await serveClaude(folder(), apiUrl);
  const [bare, cold, ahead]: [number[], number[], number[]] = [[], [], []];
  const pairs = quick ? 5 : 20;
  const ours = async (options: object): Promise<number> => {
    // Waits until no process is starting.
    await quiet(server.pid, 500);
    let first = 0;
    await server.stream("/api/v1/query", { prompt: HELLO, ...options }, (event, ms) => {
      if (event === "init") first ||= ms;
    });
    return first;
  };
  // The first pair is not counted, because it reads files from the disk for the first time.
  for (let pair = -1; pair < pairs; pair++) {
    await quiet(server.pid, 500);
    const session = bareSession(folder(), apiUrl);
    const { first } = await session.turn(HELLO);
    session.close();
    // The end of the process takes processor time, which must not affect the measurement.
    while (claudes(process.pid).length > claudes(server.pid).length) await sleep(100);
    // The options are new, so the first session needs a new process. The second session gets a process that was started
    // in advance.
    const [mine, again] = [await ours({ max_turns: 100 + pair + 1 }), await ours({ max_turns: 100 + pair + 1 })];
    if (pair < 0) continue;
    bare.push(first);
    cold.push(mine);
    ahead.push(again);
  }
  await server.close();
  const over = median(cold) - median(bare);
  return [
    {
      what: "first event of a new session, p50 over the bare SDK",
      store,
      value: over,
      unit: "ms",
      floor: median(bare),
      goal: "≤ 50 ms",
      passed: over <= 50,
      note: `${pairs} pairs; ${median(ahead).toFixed(0)} ms in all with a process started ahead`,
    },
  ];
}

/** Measures prompts to sessions whose processes are already running. */
async function warmTurns({ folder, apiUrl, quick }: Bench): Promise<readonly Result[]> {
  const server = await serveClaude(folder(), apiUrl);
  const session = bareSession(folder(), apiUrl);
  await session.turn(HELLO);
  const sessionId = await begin(server, HELLO);
  const [ours, bare]: [number[], number[]] = [[], []];
  for (let turn = -3; turn < (quick ? 20 : 60); turn++) {
    const { end } = await session.turn(HELLO);
    let mine = 0;
    await server.stream(`/api/v1/sessions/${sessionId}/resume`, { prompt: HELLO }, (event, ms) => {
      if (event === "result") mine = ms;
    });
    if (turn < 0) continue;
    bare.push(end);
    ours.push(mine);
  }
  session.close();
  await server.close();
  const over = median(ours) - median(bare);
  return [
    {
      what: "a prompt to a session whose process runs, p50 over the bare SDK",
      store,
      value: over,
      unit: "ms",
      floor: median(bare),
      goal: "≤ 15 ms",
      passed: over <= 15,
      note: `p95 ${(quantile(ours, 0.95) - quantile(bare, 0.95)).toFixed(1)} ms over`,
    },
  ];
}

/** Measures the memory of sessions that work at the same time. */
async function memory({ folder, apiUrl, quick }: Bench): Promise<readonly Result[]> {
  const count = quick ? 8 : 32;
  let up = 0;
  // All sessions share a folder, like the sessions of a tenant.
  const home = folder();
  const sessions: BareSession[] = [];
  // Starts two processes at a time, like a server with two cores. If all processes started together, they would slow each other
  // down.
  const lane = async (): Promise<void> => {
    while (sessions.length < count) {
      const session = bareSession(home, apiUrl);
      sessions.push(session);
      await new Promise<void>((resolve) => {
        const begun = (): void => {
          up += 1;
          resolve();
        };
        session.turn(THINKING, begun).catch(() => resolve());
      });
    }
  };
  await Promise.all([lane(), lane()]);
  await reached(() => up === count);
  await quiet(process.pid);
  const bare = pssOf(claudes(process.pid));
  for (const session of sessions) session.close();

  // The first server only fills the compile cache, so that the measured server loads compiled code.
  const before = await serveClaude(folder(), apiUrl);
  await begin(before, HELLO);
  await before.close();
  const server = await serveClaude(folder(), apiUrl);
  const failures: unknown[] = [];
  const begun = new Set<number>();
  for (let n = 0; n < count; n++)
    void server
      .stream("/api/v1/query", { prompt: THINKING }, (event, _ms, data) => {
        if (event === "init") begun.add(n);
        if (event === "error") failures.push(data);
      })
      .catch((error: unknown) => failures.push(error));
  await reached(() => begun.size === count);
  await quiet(server.pid);
  const children = descendants(server.pid);
  const ours = pssOf(children);
  const own = pssOf([server.pid]);
  const resident = rssOf(server.pid);
  const running = claudes(server.pid).length;
  const failed = failures.length;
  await server.kill();
  const percent = (ours / bare - 1) * 100;
  return [
    {
      what: `${count} live sessions, memory of the children (PSS)`,
      store,
      value: ours,
      unit: "MB",
      floor: bare,
      ratio: ours / bare,
      goal: "≤ 5 % over",
      passed: percent <= 5 && failed === 0 && running >= count,
      note: `${running} processes of Claude Code, ${failed} failures`,
    },
    {
      what: `${count} live sessions, the server itself (PSS)`,
      store,
      value: own,
      unit: "MB",
      goal: "≤ 150 MB",
      passed: own <= 150,
      note: `resident ${resident.toFixed(0)} MB, from sources that were compiled before`,
    },
  ];
}

/** Measures how long requests take while many readers follow sessions. */
async function readers({ folder, apiUrl, quick }: Bench): Promise<readonly Result[]> {
  const server = await serveClaude(folder(), apiUrl);
  const count = quick ? 20 : 100;
  const problems: unknown[] = [];
  const ids = await Promise.all(Array.from({ length: 4 }, () => begin(server, HELLO)));
  for (const id of ids) void server.stream(`/api/v1/sessions/${id}/resume`, { prompt: LONG }).catch(() => undefined);
  await reached(() => true);
  let frames = 0;
  for (let reader = 0; reader < count; reader++)
    void server
      .stream(`/api/v1/sessions/${ids[reader % ids.length]}/stream`, undefined, () => (frames += 1))
      .catch((error: unknown) => (closing ? undefined : problems.push(error)));
  let closing = false;
  await sleep(1000);
  const times: number[] = [];
  const until = performance.now() + (quick ? 3000 : 10_000);
  const asking = Array.from({ length: 4 }, async (_, one) => {
    for (let n = one; performance.now() < until; n++) {
      const paths = [`/api/v1/sessions/${ids[n % ids.length]}`, "/api/v1/sessions?page_size=20", "/api/v1/health"];
      const started = performance.now();
      await server.call("GET", paths[n % paths.length] ?? "").catch((error: unknown) => problems.push(error));
      times.push(performance.now() - started);
    }
  });
  await Promise.all(asking);
  closing = true;
  await server.kill();
  const p95 = quantile(times, 0.95);
  return [
    {
      what: `calls while ${count} read streams, p95`,
      store,
      value: p95,
      unit: "ms",
      goal: "≤ 200 ms, no errors",
      passed: p95 <= 200 && problems.length === 0 && frames >= count,
      note: `${times.length} calls, ${frames} frames, ${problems.length} errors`,
    },
  ];
}

async function interrupt({ folder, apiUrl, quick }: Bench): Promise<readonly Result[]> {
  const server = await serveClaude(folder(), apiUrl);
  const sessionId = await begin(server, HELLO);
  const times: number[] = [];
  const ends: number[] = [];
  for (let n = 0; n < (quick ? 3 : 10); n++) {
    let started = 0;
    const over = server.stream(`/api/v1/sessions/${sessionId}/resume`, { prompt: LONG }, (event) => {
      if (event === "result" || event === "error") ends.push(performance.now() - started);
    });
    await sleep(1000);
    started = performance.now();
    await server.call("POST", `/api/v1/sessions/${sessionId}/interrupt`);
    times.push(performance.now() - started);
    await over;
  }
  await server.close();
  const worst = Math.max(...times);
  return [
    {
      what: "an interrupt is acknowledged, the slowest",
      store,
      value: worst,
      unit: "ms",
      goal: "≤ 200 ms",
      passed: worst <= 200,
      note: `the run is over after ${median(ends).toFixed(0)} ms (p50)`,
    },
  ];
}

/** Creates a session, and waits until it has answered its first prompt. */
async function begin(server: ServedClaude, prompt: string): Promise<string> {
  let id = "";
  await server.stream("/api/v1/query", { prompt }, (_event, _ms, data) => {
    id ||= /"session_id":"([0-9a-f-]{36})"/.exec(data)?.[1] ?? "";
  });
  return id;
}

/** Waits at most four minutes until the condition is true, and then five more seconds for processes that are starting. */
async function reached(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 240_000;
  while (!isSo() && performance.now() < end) await sleep(100);
  await sleep(5000);
}

/**
 * Waits until the processes are idle. On a busy machine, a process may finish its start long after its first message.
 */
async function quiet(pid: number, windowMs = 3000): Promise<void> {
  const used = (): number => claudes(pid).reduce((sum, one) => sum + cpuOf(one), 0);
  for (let tries = 0; tries < 40; tries++) {
    const before = used();
    await sleep(windowMs);
    if (used() - before < windowMs / 10_000) return;
  }
}

/** Returns the processes of Claude Code among the descendants of a process. */
function claudes(pid: number): readonly number[] {
  return descendants(pid).filter((one) => {
    try {
      return readFileSync(`/proc/${one}/comm`, "utf8").trim() === "claude";
    } catch {
      return false;
    }
  });
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
