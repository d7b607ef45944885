/**
 * `npm run fuzz` sends valid and broken requests to a real server. It generates them from the server's own description.
 *
 * Every answer must come within 5 s, match its schema, and not be a 5xx. The fuzzer knows only `/openapi.json`. The
 * server validates its answers with the schemas that the description is made from, so only the fuzzer can find an error
 * in the description. The same seed gives the same kinds of requests, but not the same bytes. A failure is printed as a
 * curl command.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Campaign, runCampaign } from "./fuzz/campaign.ts";
import { startServed } from "./fuzz/start-server.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run fuzz -- [options]

Reads /openapi.json and sends requests to every path and method: valid ones, and ones with wrong types, missing and
unknown keys, huge and tiny numbers, text that breaks naive code, deep nesting, wrong content types, bad cursors,
other tenants' ids and used Idempotency-Keys. Ends with 1 if there was a 5xx, an answer outside its schema, or no
answer within 5 s.

  --requests N   how many (default 50000)
  --seed S       chooses the requests (default 1). Ids come from the server, so a seed repeats the kinds, not the bytes
  --only I       with --seed: only the request of this index
  --store NAME   sqlite or memory, for the server that is started (default sqlite)
  --url U        a running server, with its key in SKEIN_API_KEY; without --url a server is started in an empty folder
  --json         the result as one JSON object
  --help         this text

Examples
  npm run fuzz
  npm run fuzz -- --requests 2000 --seed 7
  SKEIN_API_KEY=… npm run fuzz -- --url http://127.0.0.1:7433 --requests 500
`;

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  readonly only?: number | undefined;
  /** The kind of store of the started server. */
  readonly store?: "sqlite" | "memory";
  readonly running?: { readonly url: string; readonly key: string };
  readonly progress?: (text: string) => void;
}

/** The results of the requests, with the error messages that the server printed. */
export interface Fuzzed extends Campaign {
  readonly complaints: string;
}

export async function fuzz({ running, store = "sqlite", ...options }: FuzzOptions): Promise<Fuzzed> {
  if (running) {
    const { url, key } = running;
    return { ...(await runCampaign({ ...options, url, keys: { admin: key } })), complaints: "" };
  }
  const dataDir = mkdtempSync(join(tmpdir(), "skein-fuzz-"));
  const storeUrl = store === "memory" ? "memory:" : `sqlite:${join(dataDir, "skein.db")}`;
  const server = await startServed({ dataDir, storeUrl });
  try {
    const { url, keys } = server;
    // With a memory store, the other keys are made in a store that the server does not see, so only the admin key works.
    const usable = store === "memory" ? { admin: keys.admin } : keys;
    const campaign = await runCampaign({ ...options, url, keys: usable, isOver: () => !server.isRunning() });
    if (!server.isRunning())
      campaign.failures.push({ index: campaign.sent, operation: "(all)", problem: "the server ended", curl: "" });
    return { ...campaign, complaints: server.complaints() };
  } finally {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = readOptions("fuzz", {
    options: {
      requests: { type: "string", default: "50000" },
      seed: { type: "string", default: "1" },
      only: { type: "string" },
      store: { type: "string", default: "sqlite" },
      url: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const number = (name: "requests" | "seed" | "only"): number => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`--${name} must be a number, not "${values[name]}".`);
    return value;
  };
  if (values.store !== "sqlite" && values.store !== "memory")
    throw new Error(`--store is sqlite or memory, not "${values.store}".`);
  const key = process.env["SKEIN_API_KEY"];
  if (values.url !== undefined && key === undefined) throw new Error("--url needs the server's key in SKEIN_API_KEY.");
  const seed = number("seed");
  const result = await fuzz({
    requests: number("requests"),
    seed,
    store: values.store,
    ...(values.only !== undefined && { only: number("only") }),
    ...(values.url !== undefined && key !== undefined && { running: { url: values.url, key } }),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  console.log(values.json ? JSON.stringify({ ...result, ...listed(result), seed }) : summary(result, seed));
  process.exitCode = result.failures.length === 0 ? 0 : 1;
}

function listed({ byStatus, succeeded }: Campaign) {
  return { byStatus: Object.fromEntries(byStatus), succeeded: [...succeeded] };
}

function summary(result: Fuzzed, seed: number): string {
  const { sent, seconds, byStatus, succeeded, operations, slowest, failures, failed, complaints } = result;
  const statuses = [...byStatus].toSorted(([a], [b]) => a - b).map(([status, count]) => `  ${status}  ${count}`);
  const never = operations.filter((id) => !succeeded.has(id));
  const rate = Math.round(sent / seconds);
  return [
    `\n${sent.toLocaleString("en")} requests in ${seconds.toFixed(1)} s (${rate} /s), seed ${seed}`,
    ...statuses,
    `${succeeded.size} of ${operations.length} operations succeeded at least once${never.length > 0 ? `, never ${never.join(", ")}` : ""}.`,
    `Slowest: ${slowest.ms.toFixed(0)} ms, ${slowest.what}`,
    ...failures.map((one) => `\nRequest ${one.index}, ${one.operation}: ${one.problem}\n  ${one.curl}`),
    complaints === "" ? "" : `\nThe server complained:\n${complaints.slice(0, 4000)}`,
    failures.length === 0 ? "No failures." : `${failed} failures, ${failures.length} different, with seed ${seed}.`,
  ].join("\n");
}

if (import.meta.main) await main();
