/**
 * `npm run bench -- growth`: measures whether requests take longer if PostgreSQL has a hundred times as many sessions.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createDatabase, startPostgres } from "../scripts/postgres.ts";
import { type Filled, fillPostgres } from "./growth/fill.ts";
import { startSimulator } from "./loop/simulator.ts";
import { PROMPT } from "./loop/turns.ts";
import { type Served, served, stream } from "./server/served.ts";
import { type Result, median, printed } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "list, count, get, follow, prompt and usage on PostgreSQL with 10,000 and with 1,000,000 sessions";

const HELP = `npm run bench -- growth [options]

Fills two databases of one PostgreSQL with copies of real sessions, and sends the same requests to both in turn.
1,000,000 sessions are about 20,000,000 events and 20 GB, which are removed afterwards. Ends with 1 if a goal was missed.

  --sessions N   sessions of the large database (default: 1000000)
  --small N      sessions of the small database (default: 10000)
  --rounds N     requests of each kind (default: 60)
  --json         the results as JSON

Examples:
  npm run bench -- growth
  npm run bench -- growth --sessions 50000 --small 1000`;

/** A database with its server. */
interface Side {
  readonly server: Served;
  readonly filled: Filled;
  /** The sessions that the requests are about. */
  readonly ids: readonly string[];
  readonly agentId: string;
  close(): Promise<void>;
}

type Ask = (side: Side, at: number) => Promise<unknown>;

const IN_A_ZONE = "in a time zone";
const HOUR_MS = 3_600_000;
const MONTH_MS = 30 * 86_400_000;
const idOf = ({ ids }: Side, at: number): string => ids[(at * 7) % ids.length] ?? "";
const path = (route: (side: Side, at: number) => string): Ask => {
  return (side, at) => side.server.call("GET", route(side, at));
};

const ASKED: readonly (readonly [what: string, ask: Ask])[] = [
  ["list: 50 sessions", path(() => "/v1/sessions?limit=50")],
  [
    "list: 50 of an agent that failed",
    path(({ agentId }) => `/v1/sessions?limit=50&agent_id=${agentId}&status=failed`),
  ],
  ["list: with their number", path(() => "/v1/sessions?limit=50&count=true")],
  ["get", path((side, at) => `/v1/sessions/${idOf(side, at)}`)],
  ["messages", path((side, at) => `/v1/sessions/${idOf(side, at)}/messages`)],
  ["follow: the whole log as a stream", (side, at) => follow(side, idOf(side, at))],
  ["prompt: to the end of its run", (side, at) => prompt(side, idOf(side, at + 3))],
  ["usage by day", path(() => "/v1/usage?group_by=day")],
  ["usage by model", path(() => "/v1/usage?group_by=model")],
  ["usage by agent", path(() => "/v1/usage?group_by=agent")],
  [
    "usage of the last 30 days",
    path(() => `/v1/usage?group_by=day&from=${new Date(Date.now() - MONTH_MS).toISOString()}`),
  ],
  [
    `usage of the last 30 days ${IN_A_ZONE}`,
    path(
      () =>
        `/v1/usage?group_by=day&time_zone=Europe/Berlin&from=${new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - MONTH_MS).toISOString()}`,
    ),
  ],
  ["usage by key", path(() => "/v1/usage?group_by=key")],
  ["usage of tools", path(() => "/v1/usage/tools")],
];
const GOAL = 1.5;
const LATE_MS = 30_000;

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- growth", {
    args: [...args],
    options: {
      sessions: { type: "string", default: "1000000" },
      small: { type: "string", default: "10000" },
      rounds: { type: "string", default: "60" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const simulator = await startSimulator();
  const postgres = await startPostgres({ prefix: "skein-bench-pg-", settings: SETTINGS });
  const folder = mkdtempSync(join(tmpdir(), "skein-bench-"));
  const results: Result[] = [];
  try {
    const side = (sessions: string): Promise<Side> =>
      open({ sessions: Number(sessions), serverUrl: postgres.url, folder, modelUrl: simulator.url });
    const small = await side(values.small);
    const large = await side(values.sessions);
    for (const [what, ask] of ASKED)
      results.push(await compared(what, ask, { small, large, rounds: Number(values.rounds) }));
    await small.close();
    await large.close();
    const { events, bytes, seconds, sessions } = large.filled;
    console.error(
      `${sessions} sessions, ${events} events, ${(bytes / 1e9).toFixed(1)} GB, filled in ${seconds.toFixed(0)} s`,
    );
  } finally {
    await simulator.close();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

/** With these settings, PostgreSQL writes fast, but a crash may lose data. All measurements use them. */
const SETTINGS = {
  fsync: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "4GB",
  shared_buffers: "1GB",
  max_connections: "100",
};

async function compared(
  what: string,
  ask: Ask,
  { small, large, rounds }: { readonly small: Side; readonly large: Side; readonly rounds: number },
): Promise<Result> {
  const times = { small: [] as number[], large: [] as number[] };
  for (let at = -5; at < rounds; at++)
    // The two databases are measured alternately, so that other load affects both.
    for (const name of ["small", "large"] as const) {
      const began = performance.now();
      await ask(name === "small" ? small : large, at + 5);
      if (at >= 0) times[name].push(performance.now() - began);
    }
  const [value, floor] = [median(times.large), median(times.small)];
  const ratio = value / floor;
  const measured = { what, store: "postgres", value, unit: "ms", floor, ratio };
  return what.endsWith(IN_A_ZONE)
    ? { ...measured, note: "the time grows until each quarter of an hour has stored sums, and no further" }
    : { ...measured, goal: `≤ ${GOAL} ×`, passed: ratio <= GOAL };
}

async function open(options: {
  readonly sessions: number;
  readonly serverUrl: string;
  readonly folder: string;
  readonly modelUrl: string;
}): Promise<Side> {
  const { url } = await createDatabase(options.serverUrl);
  const data = join(options.folder, String(options.sessions));
  mkdirSync(data, { recursive: true });
  const first = await served(url, data, options.modelUrl);
  const agents = await Promise.all(
    ["Anna", "Bert", "Carl"].map((name) => first.call("POST", "/v1/agents", { name, tools: ["add"] })),
  );
  for (let at = 0; at < 12; at++) {
    const { id } = await first.call("POST", "/v1/sessions", {
      agent_id: agents[at % 3]?.["id"],
      title: `Session ${at}`,
    });
    for (let turn = 0; turn <= at % 2; turn++) await prompt({ server: first }, String(id));
  }
  await first.close();
  const filled = await fillPostgres({
    url,
    sessions: options.sessions,
    at: 1,
    progress: (done) => process.stderr.write(`\r${done} of ${options.sessions} sessions `),
  });
  process.stderr.write("\n");
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client
    .query<{ id: string }>("select id from skein.sessions tablesample system_rows(500)")
    .catch(() => client.query<{ id: string }>("select id from skein.sessions order by md5(id::text) limit 500"));
  await client.end();
  const server = await served(url, data, options.modelUrl);
  return {
    server,
    filled,
    ids: rows.map(({ id }) => id),
    agentId: String(agents[0]?.["id"]),
    close: () => server.close(),
  };
}

async function prompt({ server }: Pick<Side, "server">, id: string): Promise<void> {
  const page = await server.call("GET", `/v1/sessions/${id}/events?order=last&limit=1`);
  const last = (page["data"] as readonly { sequence: number }[])[0]?.sequence ?? 0;
  const { completed, close } = await streamed(server, `/v1/sessions/${id}/events?after=${last}`);
  await server.call("POST", `/v1/sessions/${id}/messages`, { role: "user", content: { text: PROMPT } });
  await completed;
  close();
}

async function follow({ server }: Side, id: string): Promise<void> {
  const { completed, close } = await streamed(server, `/v1/sessions/${id}/events?after=0`);
  await completed;
  close();
}

/** Opens a stream, and waits in it for the end of a run. */
async function streamed(server: Served, route: string) {
  const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
  // A searched word may be split over two chunks.
  let heard = "";
  const { response } = await stream(server, route, (text) => {
    heard += text;
    if (heard.includes("event: session.completed")) resolve();
    if (heard.includes("event: session.failed")) reject(new Error(heard));
  });
  const late = setTimeout(
    () => reject(new Error(`No run ended within ${LATE_MS} ms: ${route}\n${heard.slice(-500)}`)),
    LATE_MS,
  );
  response.once("close", () => reject(new Error(`The stream ended too early: ${route}`)));
  completed.catch(() => {}).finally(() => clearTimeout(late));
  return { completed, close: () => void response.destroy() };
}
