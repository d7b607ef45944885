import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";

/** A real server with Claude Code in a separate process, and functions to call it. */
export interface ServedClaude {
  readonly pid: number;
  /**
   * Sends a request, and waits until the answer ends. `onFrame` gets each frame with the milliseconds since the
   * request.
   */
  stream(path: string, body: unknown, onFrame?: (event: string, ms: number, data: string) => void): Promise<void>;
  call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

export async function serveClaude(
  folder: string,
  apiUrl: string,
  { key, sandbox }: { readonly key?: string | undefined; readonly sandbox?: "required" | "off" } = {},
): Promise<ServedClaude & { readonly key: string }> {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      ...process.execArgv,
      "bench/server/child.ts",
      `sqlite:${folder}/skein.db`,
      folder,
      apiUrl,
      ...(sandbox ? [sandbox] : []),
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface(child.stdout as NonNullable<ChildProcess["stdout"]>);
  const [line] = (await once(lines, "line")) as [string];
  const said = JSON.parse(line) as { url: string; key?: string };
  const secret = key ?? said.key ?? "";
  const headers = { "x-api-key": secret, "content-type": "application/json" };
  return {
    key: secret,
    pid: child.pid ?? 0,
    async call(method, path, body) {
      const response = await fetch(`${said.url}${path}`, {
        method,
        headers: body === undefined ? { "x-api-key": secret } : headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
    },
    async stream(path, body, onFrame = () => {}) {
      const started = performance.now();
      const response = await fetch(`${said.url}${path}`, {
        headers: { ...headers, accept: "text/event-stream" },
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      });
      if (!response.ok || !response.body) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      let text = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
          const frame = text.slice(0, end);
          text = text.slice(end + 2);
          const event = /^event: (.*)$/m.exec(frame)?.[1];
          if (event !== undefined) onFrame(event, performance.now() - started, /^data: (.*)$/m.exec(frame)?.[1] ?? "");
        }
      }
    },
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    async close() {
      child.stdin?.end();
      await once(child, "exit");
    },
  };
}

/** Returns the memory of the processes in megabytes. Shared memory is counted once. */
export function pssOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + pss(pid), 0);
}

/** All descendants of a process. */
export function descendants(pid: number): readonly number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
  }
  const below = (one: number): number[] => (parents.get(one) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** The processor time that a process has used, in seconds. */
export function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13)
      .map(Number);
    return (user + system) / 100;
  } catch {
    return 0;
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

function pss(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
