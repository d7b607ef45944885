import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";

/** A server in a process of its own, and how to call it. */
export interface Served {
  readonly url: string;
  readonly bareUrl: string;
  readonly key: string;
  /** Megabytes that the process holds. */
  readonly rss: () => number;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  readonly close: () => Promise<void>;
}

export async function served(storeUrl: string, dataDir: string, modelUrl: string): Promise<Served> {
  const child: ChildProcess = spawn(
    process.execPath,
    [...process.execArgv, "--expose-gc", "bench/server/child.ts", storeUrl, dataDir, modelUrl],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const [line] = (await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data")) as [Buffer];
  const { url, key, bareUrl } = JSON.parse(String(line)) as { url: string; key: string; bareUrl: string };
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    url,
    key,
    bareUrl,
    rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
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

/** One request over a connection that is kept. */
export function exchange(
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

/** Requests per second of a route, with so many at once. */
export async function rate(
  options: { url: string; key?: string },
  { ms, at }: { ms: number; at: number },
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: at });
  const end = performance.now() + ms;
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      await exchange(agent, options);
      count += 1;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: at }, worker));
  agent.destroy();
  return (count / (performance.now() - began)) * 1000;
}
