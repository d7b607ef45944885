/** Runs the typical steps of a user. A test watches which addresses the steps call. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "@skein/client";
import { writeCorpus } from "@skein/history/testing";
import { createServer } from "skein";

const [home = ""] = process.argv.slice(2);
const root = join(import.meta.dirname, "../../..");
const skein = [...process.execArgv, join(root, "packages/cli/bin/skein.js")];

writeCorpus({ folder: join(home, ".claude"), files: 3, bytes: 100_000 });
mkdirSync(join(home, "work"));

for (const args of [
  ["run", "How much is 2+2?"],
  ["sessions", "list"],
  ["history", "list"],
  ["history", "usage", "--by", "month"],
  ["history", "search", "the"],
  ["sql", "SELECT count(*) FROM claude.messages"],
  // DuckDB would download an extension for this statement if Skein did not forbid it.
  ["sql", "SELECT * FROM read_xlsx('a.xlsx')"],
  ["doctor", "--json"],
])
  say(
    args.join(" "),
    spawnSync(process.execPath, [...skein, ...args], { cwd: join(home, "work"), encoding: "utf8" }).status,
  );

await command();
await library();

/** Starts `skein serve`, requests one page, and ends the server with a signal. */
async function command(): Promise<void> {
  const server = spawn(process.execPath, [...skein, "serve", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(server, "exit");
  let url: string | undefined;
  for await (const line of createInterface(server.stdout)) if ((url = /http:\S+/.exec(line)?.[0])) break;
  say("serve", (await fetch(`${url}/`)).status);
  server.kill("SIGTERM");
  await exited;
}

async function library(): Promise<void> {
  const { url, key, close } = await createServer({ port: 0, store: "memory:", data: join(home, "data") });
  const client = createClient({ url, apiKey: key.key });
  const agent = await client.createAgent({ body: { name: "Helper" } });
  const session = await client.createSession({ body: { agent_id: agent.id } });
  const params = { session_id: session.id };
  const { run_id: runId } = await client.postMessage({ params, body: { role: "user", content: { text: "Hello." } } });
  for await (const one of client.follow(session.id, { runId })) void one;
  say("a run over HTTP", (await client.getSession({ params })).status);
  await close();
}

function say(what: string, result: unknown): void {
  console.log(`${what}: ${String(result)}`);
}
