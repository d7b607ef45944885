/** How long the first answer of a new process takes without a cached copy: `skein mcp`, and the server over HTTP. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

const bin = join(import.meta.dirname, "../../packages/cli/bin/skein.js");
const KEY = "sk-bench-0123456789abcdef0123456789abcdef";
/** A server that takes longer than this counts as not answering. */
const MOST_MS = 120_000;

const FIRST_QUESTIONS = {
  "about nothing": "SELECT 42",
  "over everything": "SELECT message_type, count(*) FROM claude_conversations GROUP BY 1",
} as const;

export interface FirstAnswerPlace {
  /** The data directory with the transcripts. */
  readonly folder: string;
  /** The parent of the processes' folders. */
  readonly work: string;
}

/** The milliseconds from the question to the answer. */
export async function firstAnswers({ folder, work }: FirstAnswerPlace): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const [about, sql] of Object.entries(FIRST_QUESTIONS)) {
    found.set(`skein mcp: first answer, ${about}`, await overMcp(sql, folder, work));
    found.set(`HTTP: first answer, ${about}`, await overHttp(sql, folder, work));
  }
  return found;
}

/** Measures the answer to a question over MCP, as Claude Code asks it. */
async function overMcp(sql: string, folder: string, work: string): Promise<number> {
  return await withProcess(["mcp", "--root", folder], work, {}, async ({ stdin, stdout }) => {
    if (!stdin || !stdout) throw new Error("The process has no pipes.");
    const answer = async (): Promise<unknown> => once(stdout, "data", { signal: AbortSignal.timeout(MOST_MS) });
    const send = (id: number, method: string, params: object): void =>
      void stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    send(1, "initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "b", version: "1" } });
    await answer();
    const start = performance.now();
    send(2, "tools/call", { name: "sql", arguments: { sql } });
    await answer();
    return performance.now() - start;
  });
}

async function overHttp(sql: string, folder: string, work: string): Promise<number> {
  const env = { SKEIN_SQL_HISTORY: folder, SKEIN_API_KEY: KEY };
  return await withProcess(["serve", "--port", "0"], work, env, async ({ stdout }) => {
    const url = await addressIn(stdout);
    const start = performance.now();
    const answer = await fetch(`${url}/v1/sql`, {
      method: "POST",
      headers: { "x-api-key": KEY, "content-type": "application/json" },
      body: JSON.stringify({ sql }),
      signal: AbortSignal.timeout(MOST_MS),
    });
    const text = await answer.text();
    if (!answer.ok || text.includes('"error"')) throw new Error(text.slice(0, 500));
    return performance.now() - start;
  });
}

async function addressIn(stdout: ChildProcess["stdout"]): Promise<string> {
  let text = "";
  for await (const piece of stdout ?? []) {
    text += String(piece);
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`The server has not started: ${text}`);
}

async function withProcess(
  args: readonly string[],
  work: string,
  env: Readonly<Record<string, string>>,
  ask: (child: ChildProcess) => Promise<number>,
): Promise<number> {
  // A new home folder, so that there is neither a copy nor an index.
  const home = mkdtempSync(join(work, "first-"));
  const child = spawn(process.execPath, [...process.execArgv, bin, ...args], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      SKEIN_CACHE_DIR: join(home, "cache"),
      SKEIN_DATA_DIR: join(home, "data"),
      ...env,
    },
    cwd: home,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const closed = once(child, "close");
  try {
    return await ask(child);
  } finally {
    child.kill();
    child.stdin?.destroy();
    await closed;
  }
}
