import { spawn } from "node:child_process";
import { once } from "node:events";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { script } from "@skein/simulator";
import { type Result, median } from "../store/results.ts";
import { type ServedClaude, descendants, pssOf, serveClaude } from "./claude-server.ts";

interface Bench {
  readonly folder: () => string;
  readonly apiUrl: string;
  readonly quick: boolean;
}

const store = "sqlite";
const HELLO = `Say hello. ${script([{ text: "Hello." }])}`;
/** The limits that a server sets for Claude Code. They make the measurement include control groups. */
const LIMITS = { totalMemoryBytes: 4 * 1024 ** 3, processes: 256, fileBytes: 4 * 1024 ** 3, cpuSeconds: 3600 };

/**
 * Measures what the sandbox costs at the start of a process, in a turn, and in memory. Runs with and without the sandbox
 * alternate in random order.
 */
export async function wallCosts(bench: Bench): Promise<readonly Result[]> {
  const opened = await openBubblewrap();
  if ("problem" in opened) throw new Error(opened.problem);
  const servers = {
    without: await serveClaude(bench.folder(), bench.apiUrl, { sandbox: "off" }),
    with: await serveClaude(bench.folder(), bench.apiUrl, { sandbox: "required" }),
  };
  try {
    const start = await starts(bench, async () => {
      const child = opened.sandbox.start({
        command: "/bin/true",
        args: [],
        cwd: "/",
        env: {},
        places: [],
        limits: LIMITS,
      });
      await child.ended;
    });
    return [start, ...(await turnsAndMemory(servers, bench.quick))];
  } finally {
    await servers.without.close();
    await servers.with.close();
  }
}

async function starts({ quick }: Bench, walled: () => Promise<void>): Promise<Result> {
  const plain = async (): Promise<void> => {
    await once(spawn("/bin/true", { stdio: ["pipe", "pipe", "pipe"] }), "exit");
  };
  const [bare, ours]: [number[], number[]] = [[], []];
  for (let round = -3; round < (quick ? 20 : 60); round++)
    for (const [start, times] of shuffled([[plain, bare] as const, [walled, ours] as const])) {
      const before = performance.now();
      await start();
      if (round >= 0) times.push(performance.now() - before);
    }
  const over = median(ours) - median(bare);
  return {
    what: "the wall at the start of a process, p50 over a bare one",
    store,
    value: over,
    unit: "ms",
    floor: median(bare),
    goal: "≤ 15 ms",
    passed: over <= 15,
    note: opened(ours),
  };
}

const opened = (times: readonly number[]): string =>
  `${times.length} starts of /bin/true, with cgroups where there are any`;

async function turnsAndMemory(
  servers: { readonly without: ServedClaude; readonly with: ServedClaude },
  quick: boolean,
): Promise<readonly Result[]> {
  const [sessions, turns] = quick ? [2, 5] : [4, 15];
  const sides = await Promise.all(
    [servers.without, servers.with].map(async (server) => ({ server, ids: await begun(server, sessions) })),
  );
  const ratios: number[] = [];
  const medians: [number[], number[]] = [[], []];
  for (let round = 0; round < 9; round++) {
    const times: [number[], number[]] = [[], []];
    // Sessions with and without the sandbox alternate in random order, so that other load affects both kinds.
    for (let turn = 0; turn < turns; turn++)
      for (const side of shuffled([0, 1] as const)) {
        const { server, ids } = sides[side] ?? { server: servers.with, ids: [] };
        let end = 0;
        await server.stream(`/api/v1/sessions/${ids[turn % ids.length]}/resume`, { prompt: HELLO }, (event, ms) => {
          if (event === "result") end = ms;
        });
        times[side].push(end);
      }
    ratios.push(median(times[1]) / median(times[0]));
    medians[0].push(median(times[0]));
    medians[1].push(median(times[1]));
  }
  const [without = 0, walled = 0] = sides.map(({ server, ids }) => pssOf(descendants(server.pid)) / ids.length);
  const ratio = median(ratios);
  return [
    {
      what: "a turn with the wall, median of nine rounds",
      store,
      value: median(medians[1]),
      unit: "ms",
      floor: median(medians[0]),
      ratio,
      goal: "≤ 1.05 × without it",
      passed: ratio <= 1.05,
      note: `rounds ${ratios
        .map((each) => each.toFixed(2))
        .sort()
        .join(" ")}; ${turns} turns of each side in a round, random order`,
    },
    {
      what: "memory of a session with the wall (PSS)",
      store,
      value: walled,
      unit: "MB",
      floor: without,
      goal: "within 5 MB",
      passed: walled - without <= 5,
      note: `${sessions} sessions of each side, the processes below the server`,
    },
  ];
}

async function begun(server: ServedClaude, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    await server.stream("/api/v1/query", { prompt: HELLO }, (event, _ms, data) => {
      if (event === "init") ids.push((JSON.parse(data) as { session_id: string }).session_id);
    });
  return ids;
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return Math.random() < 0.5 ? items : items.toReversed();
}
