/**
 * `npm run bench -- console`: measures the speed of the console in Chromium with a real server. Figures that depend on
 * the machine are compared with a minimal implementation (a bare page or list) in the same run.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openBrowser } from "../apps/console/dev/browser.ts";
import { startPlatform } from "../apps/console/dev/platform.ts";
import { startScriptedModel } from "../apps/console/dev/scripted-model.ts";
import { makeManySessions } from "./console/many-sessions.ts";
import { startOfServer } from "./console/start.ts";
import {
  firstPage,
  historySearch,
  listOfSessions,
  longSession,
  memoryOfServer,
  streaming,
} from "./console/measures.ts";
import { table } from "./table.ts";
import { type Bench, type Line, within } from "./console/bench-world.ts";
import { createClient } from "@skein/client";
import { writeCorpus } from "@skein/history/testing";

export const summary =
  "the console in Chromium: first page, long sessions, streaming, search on 400 MB, a list of 100,000 sessions";

const HELP = `npm run bench -- console [options]

Needs Chromium (apt-get install chromium) and a built console (npm install). Ends with 1 if a goal was missed.

  --quick        10,000 sessions and a corpus of 40 MB
  --only=NAMES   some of: start, first, long, stream, search, list, memory
  --corpus=PATH  search in the transcripts of this folder (as ~/.claude is laid out), not in generated ones
`;

const MEASURES: Readonly<Record<string, (bench: Bench) => Promise<readonly Line[]>>> = {
  start: startOfServer,
  first: firstPage,
  list: listOfSessions,
  search: historySearch,
  long: longSession,
  stream: streaming,
  memory: memoryOfServer,
};
/** The time limit of a measurement, far above the time that any measurement needs. */
const LONGEST_S = 180;

/** Returns whether every goal was met. */
export async function run(args: readonly string[]): Promise<boolean> {
  if (args.includes("--help")) {
    console.log(HELP);
    return true;
  }
  const isQuick = args.includes("--quick");
  const only = args
    .find((arg) => arg.startsWith("--only="))
    ?.slice("--only=".length)
    .split(",");
  const wanted = (name: string): boolean => only === undefined || only.includes(name);
  const data = mkdtempSync(join(tmpdir(), "skein-bench-console-"));
  const model = await startScriptedModel();
  try {
    const corpus = args.find((arg) => arg.startsWith("--corpus="))?.slice("--corpus=".length);
    checkNames(only ?? []);
    if (wanted("search") && corpus !== undefined) symlinkSync(resolve(corpus), join(data, ".claude"));
    else if (wanted("search")) {
      console.error("writing transcripts …");
      writeCorpus({ folder: join(data, ".claude"), files: isQuick ? 40 : 400, bytes: (isQuick ? 40 : 400) * 1e6 });
    }
    if (wanted("list")) {
      console.error("writing sessions …");
      await makeManySessions(data, isQuick ? 10_000 : 100_000);
    }
    const config = join(import.meta.dirname, "../apps/console/dev/skein.config.ts");
    const platform = await startPlatform({ data, modelUrl: model.url, config });
    const browser = await openBrowser({ width: 1440, height: 900 });
    const bench: Bench = {
      platform,
      model,
      context: browser.context,
      newContext: browser.newContext,
      client: createClient({ url: platform.url, apiKey: platform.key }),
      serverMemory: () => residentBytes(platform.pid),
      serverSeconds: () => processorSeconds(platform.pid),
    };
    const lines: Line[] = [];
    try {
      for (const [name, measure] of Object.entries(MEASURES)) {
        if (!wanted(name)) continue;
        console.error(`${name} …`);
        const found = await within(LONGEST_S, name, measure(bench));
        for (const one of found) console.error(`${one.name}: ${one.measured}`);
        lines.push(...found);
      }
    } finally {
      await browser.close();
      await within(30, "skein serve after SIGTERM", platform.stop());
    }
    console.log(
      table(
        ["what", "measured", "goal", ""],
        lines.map(({ name, measured, goal, isMet }) => [name, measured, goal, isMet ? "ok" : "MISSED"]),
      ),
    );
    return lines.every(({ isMet }) => isMet);
  } finally {
    await model.close();
    rmSync(data, { recursive: true, force: true });
  }
}

function checkNames(only: readonly string[]): void {
  const unknown = only.filter((name) => !(name in MEASURES));
  if (unknown.length > 0)
    throw new Error(`--only: ${unknown.join(", ")} is not a measure. Expected: ${Object.keys(MEASURES).join(", ")}.`);
}

function residentBytes(pid: number): number {
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

function processorSeconds(pid: number): number {
  // The name in the second field may contain spaces, so the fields are counted after its closing bracket.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const TICKS_PER_SECOND = 100;
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
