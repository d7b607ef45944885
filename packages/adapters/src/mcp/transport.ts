import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport, getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { KnownError } from "@skein/protocol";

/** Where an MCP server is: a command that is started here, or an address. */
export interface McpPlace {
  readonly command?: string;
  readonly args?: readonly string[];
  /** Added to a bare environment: nothing else of this process is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One message may have this many bytes; a server that sends more is hung up on. */
const MESSAGE_BYTES = 8 * 1024 * 1024;
/** A server that does not end when it is asked to is ended. */
const KILL_AFTER_MS = 500;

export interface OpenTransport {
  readonly transport: Transport;
  /** The last that a started server printed to its standard error, for people. */
  readonly complaint: () => string;
  /** Resolves when a started server is gone, and sees to it. */
  readonly gone: () => Promise<void>;
}

/** `closing` is called as soon as the connection is no longer to be used, which may be long before it is closed. */
export function openTransport(name: string, place: McpPlace, closing: () => void): OpenTransport {
  const { command, url } = place;
  if ((command === undefined) === (url === undefined))
    throw new KnownError("invalid", `The MCP server "${name}" needs a command or a url, and not both.`);
  return command === undefined
    ? overHttp(name, { url: url ?? "", headers: place.headers ?? {} }, closing)
    : overStdio(command, place, closing);
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
    // The transport forgets its process when it begins to close, and then waits for it; somebody has to remember.
    child = Reflect.get(transport, "_process") as ChildProcess | undefined;
  };
  transport.close = async () => {
    closing();
    gone = child ? ended(child) : gone;
    await Promise.all([close.call(transport), gone]);
  };
  return { transport, complaint: () => printed.trim(), gone: () => gone };
}

/** Waits until a process has ended: by itself, as it was asked to, or by force. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  await once(child, "exit");
  clearTimeout(timer);
}

function overHttp(
  name: string,
  { url, headers }: { url: string; headers: Readonly<Record<string, string>> },
  closing: () => void,
): OpenTransport {
  const address = URL.parse(url);
  if (!address || (address.protocol !== "http:" && address.protocol !== "https:"))
    throw new KnownError("invalid", `The url of the MCP server "${name}" must be http or https.`);
  const transport = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: { ...headers } },
    fetch: limitedFetch(() => {
      closing();
      void transport.close();
    }),
    reconnectionOptions: {
      maxRetries: 2,
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 5000,
      reconnectionDelayGrowFactor: 2,
    },
  });
  return { transport, complaint: () => "", gone: () => Promise.resolve() };
}

/** A fetch whose answers have an end: at one that is larger than a message may be, the connection is given up. */
function limitedFetch(giveUp: () => void): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init);
    // What the server sends on its own, for as long as it likes, is not one message.
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
