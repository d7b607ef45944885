import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Line, line, median, within } from "./bench-world.ts";

const TURNS = 3;

/** Measures the time from `npm start` to the line with the link to the console. */
export async function startOfServer(): Promise<readonly Line[]> {
  const times: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) times.push(await oneStart());
  return [line("npm start is up", median(times), { most: 1500, unit: "ms" })];
}

async function oneStart(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "skein-bench-start-"));
  const started = performance.now();
  const child = spawn("npm", ["start", "--silent", "--", "--port", "0", "--data", join(home, "data")], {
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH: process.env["PATH"], HOME: home, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const gone = new Promise<void>((done) => child.once("exit", () => done()));
  try {
    await within(60, "npm start", linkIn(child.stdout));
    return performance.now() - started;
  } finally {
    // The server is a child of npm, so the whole process group is ended.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await within(30, "npm start after SIGTERM", gone);
    rmSync(home, { recursive: true, force: true });
  }
}

/** Waits for the link. It has no key here, because the output is not a terminal. */
async function linkIn(output: AsyncIterable<Buffer>): Promise<void> {
  let said = "";
  for await (const piece of output) {
    said += piece.toString();
    if (/^ *Console +http:/m.test(said)) return;
  }
  throw new Error(`npm start ended before it printed its link: ${said}`);
}
