import { readFile } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { CONSOLE_HEADERS } from "./content-policy.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Paths that the platform answers; all others are the console's. */
const PLATFORM = /^\/(v1|api|health|ready|metrics|openapi\.json)(\/|\?|$)/;

export interface ConsoleServer {
  readonly url: string;
  /** Where the platform is from now on: a server that was restarted may be elsewhere. */
  target: string;
  close(): Promise<void>;
}

/** Serves the built console with its policy on loopback, and passes everything else on to a platform server. For development and tests. */
export async function startConsoleServer({
  folder,
  target,
  port = 0,
}: {
  folder: string;
  target: string;
  port?: number;
}): Promise<ConsoleServer> {
  const server: Server = createServer((incoming, outgoing) => {
    if (PLATFORM.test(incoming.url ?? "")) passOn(incoming, outgoing, console.target);
    else void serveFile(folder, incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: bound } = server.address() as AddressInfo;
  const console: ConsoleServer = {
    url: `http://127.0.0.1:${bound}`,
    target,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return console;
}

function passOn(incoming: IncomingMessage, outgoing: ServerResponse, target: string): void {
  const { host } = new URL(target);
  const headers = { ...incoming.headers, host };
  // The page's own origin is not the platform's: to the platform it is a call of this server.
  delete headers.origin;
  const passed = request(`${target}${incoming.url}`, { method: incoming.method ?? "GET", headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
    answer.on("error", () => outgoing.destroy());
  });
  passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
}

async function serveFile(folder: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const path = normalize(decodeURIComponent(new URL(incoming.url ?? "/", "http://console").pathname));
  const isFile = extname(path) !== "" && !path.includes("..");
  const file = join(folder, isFile ? path : "index.html");
  try {
    const content = await readFile(file);
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    outgoing.writeHead(200, {
      ...CONSOLE_HEADERS,
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "cache-control": cache,
    });
    outgoing.end(content);
  } catch {
    outgoing.writeHead(404, CONSOLE_HEADERS).end();
  }
}
