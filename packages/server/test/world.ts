import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Step, script } from "@skein/simulator";
import type { Limits } from "@skein/server";
import { onTestFinished } from "vitest";
import { type SkeinConfig, codeOf } from "../../skein/src/serve/config-file.ts";
import { startServer } from "../../skein/src/serve/server.ts";
import { anyStore } from "./any-store.ts";

/** Returns a prompt that makes the simulator play these steps. */
export function scripted(text: string, steps: readonly Step[]): string {
  return `${text} ${script(steps, text)}`;
}

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "skein-server-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & {
    readonly id: string;
    readonly data: readonly Record<string, unknown>[];
    readonly error: { readonly code: string; readonly message: string; readonly request_id: string };
  };
}

export type Caller = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/** Returns a function that calls the server with this key. */
export function caller(url: string, key: string | undefined): Caller {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { "x-api-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") ?? false;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
}

export interface TestServer {
  readonly url: string;
  readonly key: string;
  readonly call: Caller;
  /** What the server says at its start about probable mistakes. */
  readonly notes: readonly string[];
  readonly logged: Record<string, unknown>[];
  readonly close: () => Promise<void>;
}

/** Starts a server on a free port, and closes it at the end of the test. */
export async function testServer(
  options: {
    store?: string;
    limits?: Partial<Limits>;
    config?: SkeinConfig;
    data?: string;
    allowedOrigins?: string[];
    webhookAddresses?: string[];
    webhookRetryMs?: number[];
    traceEndpoint?: string;
    traceContent?: boolean;
    sqlHistory?: string[];
    console?: string;
    history?: { roots: string[] | undefined; keys: string[] };
    secrets?: Parameters<typeof startServer>[0]["secrets"];
    openedToModels?: Parameters<typeof startServer>[0]["openedToModels"];
    /** The address of a simulator whose answers have a price. */
    modelUrl?: string;
  } = {},
): Promise<TestServer> {
  const logged: Record<string, unknown>[] = [];
  const server = await startServer({
    port: 0,
    host: "127.0.0.1",
    storeUrl: options.store ?? (await anyStore(folder())),
    dataDir: options.data ?? folder(),
    apiKey: undefined,
    allowedHosts: [],
    allowedOrigins: options.allowedOrigins ?? [],
    allowedWebhookAddresses: options.webhookAddresses ?? [],
    webhookRetryMs: options.webhookRetryMs ?? [20, 20],
    traceEndpoint: options.traceEndpoint,
    traceContent: options.traceContent ?? false,
    sqlHistory: options.sqlHistory ?? [],
    consoleFolder: options.console ?? null,
    ...(options.history && { history: options.history }),
    ...(options.secrets && { secrets: options.secrets }),
    ...(options.openedToModels && { openedToModels: options.openedToModels }),
    anthropicApiKey: options.modelUrl === undefined ? undefined : "sk-ant-simulated",
    anthropicBaseUrl: options.modelUrl,
    code: codeOf(options.config ?? {}),
    limits: { requestBurst: 100_000, requestsPerSecond: 100_000, ...options.limits },
    log: (line) => logged.push({ ...line }),
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close());
  onTestFinished(close);
  const { key } = server.key;
  return { url: server.url, key, notes: server.notes, call: caller(server.url, key), logged, close };
}

/** Creates an agent and a session with it. */
export async function session(
  call: Caller,
  agent: Record<string, unknown> = {},
): Promise<{ agentId: string; id: string; path: string }> {
  const { body: made } = await call("POST", "/v1/agents", { name: "Helper", ...agent });
  const { body } = await call("POST", `/v1/agents/${made.id}/sessions`, {});
  return { agentId: made.id, id: body.id, path: `/v1/sessions/${body.id}` };
}

export async function say(
  call: Caller,
  path: string,
  text: string,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  return call("POST", `${path}/messages`, { role: "user", content: { text }, ...more });
}

/** Waits until the field `key` of the object at this path has one of these values. Throws an error after 20 s. */
export async function settled(
  call: Caller,
  path: string,
  key = "status",
  values = ["completed", "failed"],
): Promise<Answer["body"]> {
  const end = Date.now() + 20_000;
  for (;;) {
    const { body } = await call("GET", path);
    if (values.includes(String(body[key]))) return body;
    if (Date.now() > end) throw new Error(`The expected value did not appear within 20 s: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits until this run is over. */
export async function finished(call: Caller, path: string, runId: string): Promise<Answer["body"]> {
  return settled(call, `${path}/runs/${runId}`, "outcome", ["completed", "failed", "cancelled"]);
}

/** A frame of an SSE stream. */
export interface Frame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown> & { readonly data: Record<string, unknown> };
}

/** Opens a stream. Resolves when the first frame has arrived; `rest` has the frames up to the end. */
export function openFrames(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly rest: Promise<Frame[]> }> {
  return new Promise((resolve, reject) => {
    const rest = frames(url, { headers, onFrame: () => resolve({ rest }) });
    rest.catch(reject);
  });
}

/** Reads frames of a stream until one matches, or the stream ends. */
export async function frames(
  url: string,
  {
    headers,
    isLast = () => false,
    onFrame = () => {},
  }: {
    headers: Readonly<Record<string, string>>;
    isLast?: (frame: Frame) => boolean;
    onFrame?: (frame: Frame) => void;
  },
): Promise<Frame[]> {
  const stop = new AbortController();
  const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: stop.signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const seen: Frame[] = [];
  let text = "";
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const lines = part.split("\n");
        const field = (name: string): string | undefined =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const data = field("data");
        if (data === undefined) continue;
        const frame: Frame = { event: field("event") ?? "message", id: field("id"), data: JSON.parse(data) };
        seen.push(frame);
        onFrame(frame);
        if (isLast(frame)) return seen;
      }
    }
    return seen;
  } finally {
    stop.abort();
  }
}
