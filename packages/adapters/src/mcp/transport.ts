import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport, getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { Sandbox, SandboxLimits, SandboxMode } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { openSandbox } from "../sandboxes/bubblewrap/index.ts";
import type { GatePlaces } from "../sandboxes/host-gate.ts";
import { type OpenTransport, sandboxedTransport } from "./sandboxed-transport.ts";

/** An MCP server: a command that this process starts, or an address. */
export interface McpPlace {
  readonly command?: string;
  readonly args?: readonly string[];
  /** Variables for the command. From this process, the command gets only basic variables such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * Whether the command runs in a sandbox. Default: `off`, which gives the command the rights of this process.
   *
   * In a sandbox, the command sees its `cwd` (default: a temporary folder), the paths in `reads`, and a system without
   * secrets. It can call only `hosts`.
   */
  readonly sandbox?: SandboxMode | undefined;
  /** Folders and files that the command may read in a sandbox, such as its program files. */
  readonly reads?: readonly string[];
  /** Hosts that the command may call in a sandbox. `*.name` allows all subdomains. */
  readonly hosts?: readonly string[];
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the server at the URL uses the older protocol with two addresses (SSE). */
  readonly sse?: boolean;
  /** Calls the URL. Default: `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The sandbox of a command, if it is already open. */
  readonly within?: Within | undefined;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface Within {
  readonly sandbox: Sandbox;
  readonly limits?: SandboxLimits | undefined;
  readonly places?: GatePlaces | undefined;
}

/** The largest message in bytes. A larger message closes the connection. */
const MESSAGE_BYTES = 8 * 1024 * 1024;
/** If a server has not ended this long after the request to end, it is killed. */
const KILL_AFTER_MS = 500;

/**
 * Prepares the connection to an MCP server. Calls `closing` as soon as the connection must not be used any more. The
 * transport may close much later.
 */
export async function openTransport(name: string, place: McpPlace, closing: () => void): Promise<OpenTransport> {
  const { command, url } = place;
  if ((command === undefined) === (url === undefined))
    throw new KnownError("invalid", `The MCP server "${name}" needs a command or a url, and not both.`);
  if (command === undefined) return overHttp(name, { ...place, url: url ?? "" }, closing);
  const within = place.within ?? (await sandboxOf(name, place.sandbox ?? "off"));
  if (!within) return overStdio(command, place, closing);
  const { args = [], env = {}, cwd, reads = [], hosts = [] } = place;
  return sandboxedTransport(
    { command, args, env, cwd, reads, hosts, ...within },
    { closing, maximumBytes: MESSAGE_BYTES },
  );
}

async function sandboxOf(name: string, mode: SandboxMode): Promise<Within | undefined> {
  if (mode === "off") return undefined;
  const found = await openSandbox();
  if ("sandbox" in found) return found;
  if (mode === "preferred") return undefined;
  throw new KnownError("not_allowed", `The MCP server "${name}" is off: a sandbox is required. ${found.problem}`);
}

function overStdio(command: string, { args = [], env = {}, cwd }: McpPlace, closing: () => void): OpenTransport {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    stderr: "pipe",
    maxBufferSize: MESSAGE_BYTES,
    ...(cwd !== undefined && { cwd }),
  });
  let printed = "";
  transport.stderr?.on("data", (chunk: Uint8Array) => {
    printed = (printed + new TextDecoder().decode(chunk)).slice(-1000);
  });
  let gone: Promise<void> = Promise.resolve();
  let child: ChildProcess | undefined;
  const { start, close } = transport;
  transport.start = async () => {
    await start.call(transport);
    // The transport forgets its process when it begins to close, so the reference is kept here.
    child = Reflect.get(transport, "_process") as ChildProcess | undefined;
  };
  transport.close = async () => {
    closing();
    gone = child ? ended(child) : gone;
    await Promise.all([close.call(transport), gone]);
  };
  return { transport, complaint: () => printed.trim(), gone: () => gone };
}

/** Waits until a process has ended. Kills it after a time limit. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  await once(child, "exit");
  clearTimeout(timer);
}

function overHttp(
  name: string,
  { url, headers = {}, sse = false, fetch: send = fetch }: McpPlace & { readonly url: string },
  closing: () => void,
): OpenTransport {
  const address = URL.parse(url);
  if (!address || (address.protocol !== "http:" && address.protocol !== "https:"))
    throw new KnownError("invalid", `The url of the MCP server "${name}" must be http or https.`);
  const shared = {
    requestInit: { headers: { ...headers } },
    fetch: limitedFetch(send, () => {
      closing();
      void transport.close();
    }),
  };
  if (sse) {
    const older: Transport = new SSEClientTransport(address, shared);
    return { transport: older, complaint: () => "", gone: () => Promise.resolve() };
  }
  const transport: Transport = new StreamableHTTPClientTransport(address, {
    ...shared,
    reconnectionOptions: {
      maxRetries: 2,
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 5000,
      reconnectionDelayGrowFactor: 2,
    },
  });
  return { transport, complaint: () => "", gone: () => Promise.resolve() };
}

/**
 * Returns a fetch with a size limit. If the response to a POST is larger than `MESSAGE_BYTES`, this fetch closes the
 * connection.
 */
function limitedFetch(send: Fetch, giveUp: () => void): Fetch {
  return async (url, init) => {
    const response = await send(url, init);
    // Only the response to a POST is limited. A stream that the client opens with GET has many messages and may be
    // endless.
    if (init?.method !== "POST" || !response.body) return response;
    let size = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.byteLength;
        if (size <= MESSAGE_BYTES) return controller.enqueue(chunk);
        controller.error(new Error(`The answer has more than ${MESSAGE_BYTES} bytes.`));
        return giveUp();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
  };
}
