import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type JSONRPCMessage,
  type Transport,
  parseJSONRPCMessage,
  serializeMessage,
} from "@modelcontextprotocol/client";
import type { Sandbox, SandboxedProcess, SandboxLimits } from "@skein/core";
import { type GatePlaces, openHosts, withForwarder } from "../sandboxes/host-gate.ts";

export interface OpenTransport {
  readonly transport: Transport;
  /** Returns the last lines that a started server wrote to standard error, for error messages. */
  readonly complaint: () => string;
  /**
   * Waits until a started server has ended. Call it after the transport was closed, which kills a server that does not
   * end.
   */
  readonly gone: () => Promise<void>;
}

/** An MCP server that is started as a command in a sandbox. */
export interface SandboxedServer {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment of the server, besides PATH, HOME and LANG. */
  readonly env: Readonly<Record<string, string>>;
  /** The working folder of the server. The server may write to this folder. Default: a temporary folder. */
  readonly cwd?: string | undefined;
  /** Folders and files that the server may read, besides the system. */
  readonly reads: readonly string[];
  /** Hosts that the server may call. */
  readonly hosts: readonly string[];
  readonly sandbox: Sandbox;
  readonly limits?: SandboxLimits | undefined;
  readonly places?: GatePlaces | undefined;
}

/** The limits of an MCP server, if `SandboxedServer` sets none. */
const LIMITS: SandboxLimits = { totalMemoryBytes: 2 * 1024 ** 3, processes: 128, fileBytes: 1024 ** 3 };
const PATH = "/usr/local/bin:/usr/bin:/bin";
const KILL_AFTER_MS = 500;

/** Runs an MCP server in a sandbox and exchanges messages with it, one message per line. */
export function sandboxedTransport(
  server: SandboxedServer,
  { closing, maximumBytes }: { readonly closing: () => void; readonly maximumBytes: number },
): OpenTransport {
  let child: SandboxedProcess | undefined;
  let release = (): void => {};
  let printed = "";
  let isClosed = false;

  function receive(stream: NodeJS.ReadableStream): void {
    const decoder = new TextDecoder();
    let rest = "";
    stream.on("data", (chunk: Uint8Array) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > maximumBytes) {
        transport.onerror?.(new Error(`A message has more than ${maximumBytes} bytes.`));
        void transport.close();
      }
      for (const line of lines) if (line.trim() !== "") deliver(line);
    });
  }
  function deliver(line: string): void {
    try {
      transport.onmessage?.(parseJSONRPCMessage(JSON.parse(line)));
    } catch (error) {
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async function noteEnd({ ended }: SandboxedProcess): Promise<void> {
    const { limit } = await ended;
    if (limit !== undefined) printed = `The server was stopped: ${limit}.`;
    release();
    if (isClosed) return;
    isClosed = true;
    closing();
    transport.onclose?.();
  }

  const transport: Transport = {
    async start() {
      const started = await startServer(server);
      ({ child } = started);
      ({ release } = started);
      child.stderr.on("data", (chunk: Uint8Array) => {
        printed = (printed + new TextDecoder().decode(chunk)).slice(-1000);
      });
      receive(child.stdout);
      void noteEnd(child);
    },
    async send(message: JSONRPCMessage) {
      if (!child || isClosed) throw new Error("The server is not running.");
      child.stdin.write(serializeMessage(message));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      closing();
      child?.stdin.end();
      const timer = setTimeout(() => child?.kill("SIGKILL"), KILL_AFTER_MS);
      await child?.ended;
      clearTimeout(timer);
      release();
      transport.onclose?.();
    },
  };
  return {
    transport,
    complaint: () => printed.trim(),
    gone: async () => void (isClosed && (await child?.ended)),
  };
}

async function startServer(server: SandboxedServer): Promise<{ child: SandboxedProcess; release: () => void }> {
  const { command, args, env, cwd, reads, hosts, sandbox, limits = LIMITS, places } = server;
  const gate = await openHosts(hosts, places);
  const own = cwd === undefined ? realpathSync(mkdtempSync(join(tmpdir(), "skein-mcp-"))) : undefined;
  const folder = own ?? realpathSync(cwd ?? "");
  const release = (): void => {
    gate?.close();
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
  };
  const program = gate ? withForwarder(command) : { command, before: [] };
  try {
    const child = sandbox.start({
      command: program.command,
      args: [...program.before, ...args],
      cwd: folder,
      env: { PATH, HOME: folder, LANG: "C.UTF-8", ...gate?.env, ...env },
      places: [
        { path: folder, access: "write" },
        ...reads.map((path) => ({ path, access: "read" as const })),
        ...(gate ? [gate.place] : []),
      ],
      limits,
    });
    return { child, release };
  } catch (error) {
    release();
    throw error;
  }
}
