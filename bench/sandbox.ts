/**
 * `npm run bench -- sandbox`: the duration of an SQL query over HTTP, and the effect of heavy queries on other
 * requests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { sandboxProblem } from "@skein/sql/sandbox";
import { type Served, served } from "./server/served.ts";
import { type Result, median, printed, quantile } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "SQL over HTTP: the first question, later questions, endless statements, and the API during endless statements";

const HELP = `npm run bench -- sandbox [--quick] [--json]

The server runs in its own process with a sqlite store. Needs bubblewrap. Ends with 1 if a goal was missed.`;

/** After this pause, the server has another process ready for the next question. */
const PAUSE_MS = 2000;
const ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000) b";

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- sandbox", {
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const problem = await sandboxProblem();
  if (problem !== undefined) {
    console.error(problem);
    return false;
  }
  const folder = mkdtempSync(join(tmpdir(), "skein-bench-"));
  const server = await served(`sqlite:${join(folder, "skein.db")}`, folder, "");
  try {
    const results = [...(await questions(server, values.quick ? 5 : 20)), ...(await heavy(server, values.quick))];
    console.log(values.json ? JSON.stringify(results, undefined, 2) : printed(results));
    return results.every(({ passed }) => passed !== false);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function questions(server: Served, times: number): Promise<readonly Result[]> {
  const { id } = await server.call("POST", "/v1/agents", { name: "Helper" });
  const session = (): Promise<unknown> => server.call("POST", "/v1/sessions", { agent_id: id });
  for (let at = 0; at < 50; at += 1) await session();
  const question = (): Promise<number> => asked(server, "SELECT status, count(*) FROM platform.sessions GROUP BY 1");
  const first = await question();
  const repeated = async (before: () => Promise<unknown>): Promise<number> => {
    const taken: number[] = [];
    for (let at = 0; at < times; at += 1) {
      await before();
      taken.push(await question());
    }
    return median(taken);
  };
  const cold = await repeated(async () => {});
  const waiting = await repeated(() => delay(PAUSE_MS));
  const changed = await repeated(async () => {
    await delay(PAUSE_MS);
    await session();
  });
  const result = (what: string, value: number, note?: string): Result => ({
    what,
    store: "sqlite",
    value,
    unit: "ms",
    ...(value !== cold && { floor: cold, ratio: value / cold }),
    ...(note !== undefined && { note }),
  });
  return [
    result("one question after the other", cold, "each waits for its process"),
    result("a question after a pause", waiting, "a process waits for the question"),
    result("a question after a change", changed, "one session is copied first"),
    result("the first question", first, "tries the sandbox, copies everything"),
  ];
}

async function heavy(server: Served, quick: boolean): Promise<readonly Result[]> {
  const ended = await asked(server, ENDLESS);
  const requests = quick ? 300 : 2000;
  const idle = await p99(server, requests);
  const over = new AbortController();
  const statements = (async () => {
    while (!over.signal.aborted) await Promise.all(Array.from({ length: 20 }, () => asked(server, ENDLESS)));
  })();
  const busy = await p99(server, requests);
  over.abort();
  await statements;
  return [
    {
      what: "an endless statement",
      store: "sqlite",
      value: ended,
      unit: "ms",
      goal: "ended within 6 s",
      passed: ended <= 6000,
    },
    {
      what: "p99 of a read during 20 endless statements",
      store: "sqlite",
      value: busy,
      unit: "ms",
      floor: idle,
      ratio: busy / idle,
      goal: "at most twice that of an idle server",
      passed: busy <= 2 * idle,
    },
  ];
}

async function p99(server: Served, requests: number): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < requests; at += 1) {
    const began = performance.now();
    await server.call("GET", "/v1/agents");
    times.push(performance.now() - began);
    await delay(2);
  }
  return quantile(times, 0.99);
}

/** The milliseconds until the answer is complete. */
async function asked({ url, key }: Served, sql: string): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${url}/v1/sql`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  await response.text();
  return performance.now() - began;
}
