import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Step, script } from "@skein/simulator";

/**
 * A server with two tenants in a separate process. One tenant floods the server while the second tenant is measured.
 */
export interface Served {
  readonly url: string;
  /** The API key of the tenant that floods. */
  readonly flood: string;
  /** The API key of the tenant whose turns are measured. */
  readonly calm: string;
  /** The peak memory of the server's process in megabytes. */
  readonly peakMb: () => number;
  readonly close: () => Promise<void>;
}

export async function startServed(folder: string, modelUrl: string): Promise<Served> {
  const child: ChildProcess = spawn(
    process.execPath,
    [...process.execArgv, "bench/fair/child.ts", `sqlite:${join(folder, "skein.db")}`, folder, modelUrl],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const [line] = (await once(createInterface(child.stdout as NonNullable<ChildProcess["stdout"]>), "line")) as [string];
  const { url, flood, calm } = JSON.parse(line) as Pick<Served, "url" | "flood" | "calm">;
  return {
    url,
    flood,
    calm,
    peakMb: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    async close() {
      const ended = once(child, "exit");
      child.stdin?.end();
      // The runs of the flood may delay the shutdown. Their results are not needed.
      const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
      await ended;
      clearTimeout(late);
    },
  };
}

export interface Called {
  readonly status: number;
  /** The parsed first line of a JSON answer. */
  readonly body: Record<string, unknown>;
}

export async function call(
  { url }: Pick<Served, "url">,
  key: string,
  { path, body, signal }: { readonly path: string; readonly body?: unknown; readonly signal?: AbortSignal },
): Promise<Called> {
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const [line = ""] = (await answer.text()).split("\n");
  return {
    status: answer.status,
    body: line.startsWith("{") ? (JSON.parse(line) as Record<string, unknown>) : {},
  };
}

const agents = new Map<string, string>();

/** Creates a session with an agent that has these tools. */
export async function begin(server: Served, key: string, tools: readonly string[] = []): Promise<string> {
  const name = `${server.url} ${key} ${tools.join()}`;
  const known =
    agents.get(name) ??
    String((await call(server, key, { path: "/v1/agents", body: { name: "Bench", tools } })).body["id"]);
  agents.set(name, known);
  const made = await call(server, key, { path: `/v1/agents/${known}/sessions`, body: {} });
  if (made.status !== 201) throw new Error(`No session was made: ${made.status} ${JSON.stringify(made.body)}`);
  return String(made.body["id"]);
}

/** Creates a session, and sends a prompt that makes the simulator play `steps`. */
export async function prompt(
  server: Served,
  key: string,
  { steps, tools = [] }: { readonly steps: readonly Step[]; readonly tools?: readonly string[] },
): Promise<string> {
  const id = await begin(server, key, tools);
  const content = { text: `Go. ${script(steps, "Go.")}` };
  const sent = await call(server, key, { path: `/v1/sessions/${id}/messages`, body: { role: "user", content } });
  if (sent.status !== 202) throw new Error(`The prompt was rejected: ${sent.status} ${JSON.stringify(sent.body)}`);
  return id;
}
