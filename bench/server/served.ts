import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** Clock ticks per second in /proc. */
const TICKS = 100;

/** A server in a separate process, and functions to call it. */
export interface Served {
  readonly url: string;
  readonly bareUrl: string;
  readonly key: string;
  /** The memory of the process in megabytes. */
  readonly rss: () => number;
  /** The peak memory of the process in megabytes. */
  readonly peak: () => number;
  /** The processor seconds that the process has used. */
  readonly cpu: () => number;
  /** The memory of the process after a garbage collection. */
  readonly holds: () => Promise<Held>;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  readonly close: () => Promise<void>;
}

/** The memory of a process after a garbage collection. Sizes are in megabytes. */
interface Held {
  readonly rss: number;
  readonly heap: number;
  readonly timers: number;
  readonly sockets: number;
  /**
   * The longest time that the event loop of the process was blocked since the previous measurement, in milliseconds.
   */
  readonly stall: number;
}

export async function served(storeUrl: string, dataDir: string, modelUrl: string): Promise<Served> {
  const child: ChildProcess = spawn(
    process.execPath,
    [...process.execArgv, "--expose-gc", "bench/server/child.ts", storeUrl, dataDir, modelUrl],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface(child.stdout as NonNullable<ChildProcess["stdout"]>);
  const [line] = (await once(lines, "line")) as [string];
  const { url, key, bareUrl } = JSON.parse(line) as { url: string; key: string; bareUrl: string };
  const status = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    url,
    key,
    bareUrl,
    rss: () => status("VmRSS"),
    peak: () => status("VmHWM"),
    cpu() {
      const [user = 0, system = 0] = readFileSync(`/proc/${child.pid}/stat`, "utf8")
        .split(" ")
        .slice(13, 15)
        .map(Number);
      return (user + system) / TICKS;
    },
    async holds() {
      const answer = once(lines, "line") as Promise<[string]>;
      child.stdin?.write("?\n");
      return JSON.parse((await answer)[0]) as Held;
    },
    async call(method, path, body) {
      const text = await exchange(agent, { url: `${url}${path}`, method, key, body });
      return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
    },
    async close() {
      agent.destroy();
      child.stdin?.end();
      await once(child, "exit");
    },
  };
}

/** One request over a connection that stays open. */
function exchange(
  agent: Agent,
  { url, method = "GET", key, body }: { url: string; method?: string; key?: string; body?: unknown },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(key !== undefined && { "x-api-key": key }),
      ...(payload !== undefined && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(payload),
      }),
    };
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const { statusCode = 0 } = response;
        if (statusCode < 300) resolve(text);
        else reject(new Error(`${method} ${url}: ${statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(payload);
  });
}

/** An open stream of a session. */
export interface Stream {
  readonly response: IncomingMessage;
  close(): void;
}

export function stream(
  { url, key }: Pick<Served, "url" | "key">,
  path: string,
  onText: (text: string) => void,
  onEnd: () => void = () => {},
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const headers = { "x-api-key": key, accept: "text/event-stream" };
    const sent = request(`${url}${path}`, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${path}: ${response.statusCode}`));
      response.setEncoding("utf8");
      response.on("data", onText);
      response.on("error", () => {});
      response.on("close", onEnd);
      return resolve({ response, close: () => sent.destroy() });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** The speed of a route: requests per second, and milliseconds of the server's processor time per request. */
export interface Rate {
  readonly perSecond: number;
  readonly cpuMs: number;
}

/**
 * Requests a route repeatedly on `at` connections, for `ms` milliseconds.
 *
 * It uses bare sockets, because a slow HTTP client would hide the difference between servers.
 */
export async function rate(
  { url, key, cpu }: { url: string; key?: string; cpu: () => number },
  { ms, at }: { ms: number; at: number },
): Promise<Rate> {
  const { port, pathname, search, host } = new URL(url);
  const headers = `Host: ${host}\r\n${key === undefined ? "" : `X-API-Key: ${key}\r\n`}`;
  const asked = Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\n${headers}\r\n`);
  const began = performance.now();
  const end = began + ms;
  const before = cpu();
  let count = 0;
  const connection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(asked));
      let missing = -1;
      socket.setNoDelay(true);
      socket.on("data", (chunk) => {
        if (missing < 0) {
          const head = chunk.indexOf("\r\n\r\n");
          const length = /content-length: (\d+)/i.exec(chunk.toString("latin1", 0, head))?.[1];
          if (head < 0 || length === undefined || !chunk.toString("latin1", 0, 12).endsWith("200"))
            return void socket.destroy(
              new Error(`Expected the status 200 and a content-length: ${chunk.toString("latin1", 0, 300)}`),
            );
          missing = Number(length) + head + 4;
        }
        missing -= chunk.length;
        if (missing > 0) return;
        missing = -1;
        count += 1;
        if (performance.now() < end) socket.write(asked);
        else socket.destroy();
      });
      socket.once("error", reject);
      socket.once("close", () => resolve());
    });
  await Promise.all(Array.from({ length: at }, connection));
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: count / seconds, cpuMs: ((cpu() - before) / count) * 1000 };
}
