import { readFileSync } from "node:fs";

/** Clock ticks per second in /proc. */
const TICKS = 100;

/** The parts whose processor time is counted. This process is the load generator. */
const PARTS = { server: "bench/server/child.ts", model: "simulator/src/main.ts", postgres: "postgres" } as const;

/** The processor seconds that each part has used so far. */
export type ProcessorTime = Readonly<Record<"load" | keyof typeof PARTS, number>>;

/** The processor time of this process and of every process that it started, by part. */
export function processorTime(): ProcessorTime {
  const used = { load: secondsOf(process.pid), server: 0, model: 0, postgres: 0 };
  for (const pid of descendants(process.pid)) {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    const part = (Object.keys(PARTS) as (keyof typeof PARTS)[]).find((name) => command.includes(PARTS[name]));
    if (part) used[part] += secondsOf(pid);
  }
  return used;
}

/** The processor time of each part between two moments, in milliseconds per session. */
export function processorShares(before: ProcessorTime, after: ProcessorTime, count: number): string {
  const each = (Object.keys(after) as (keyof ProcessorTime)[]).map((part) => {
    const ms = ((after[part] - before[part]) / count) * 1000;
    return `${part} ${ms.toFixed(1)}`;
  });
  return `ms of a processor for each: ${each.join(", ")}`;
}

function secondsOf(pid: number): number {
  // The name of the program is in brackets before the numbers, and may contain spaces.
  const [user = 0, system = 0] = (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1] ?? "")
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) / TICKS;
}

function descendants(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}
