import { randomBytes, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http";
import { type AddressInfo, type Socket, connect, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type GuardedRequestOptions, checkUrl, guardedLookup } from "../tools/guarded-request.ts";
import { isPublicAddress } from "../tools/public-address.ts";

/** A proxy for child processes, on loopback or a socket. Requests without its password are rejected. */
export interface GuardedProxy {
  /**
   * `http://user:password@127.0.0.1:port`, for HTTP_PROXY and HTTPS_PROXY. With a socket, the port is that of the forwarder in the sandbox.
   */
  readonly url: string;
  close(): void;
}

export interface ProxyOptions extends Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort" | "lookup"> {
  /** Whether a host may be called, by name. Default: every public host. */
  readonly allowsHost?: (host: string) => boolean;
  /** Listens on this Unix socket instead of a port. */
  readonly socket?: string;
}

/** The port of the forwarder in a sandbox: programs can only use a proxy with a port. */
export const FORWARDER_PORT = 3128;

/** Headers about the connection, not about the message. They are not forwarded. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * A proxy that resolves a name, checks the address, and connects to exactly that address. Claude Code calls MCP servers
 * itself, and without the proxy a name could resolve to another address after the check.
 */
export async function createGuardedProxy(places: ProxyOptions): Promise<GuardedProxy> {
  const { allowsAddress = isPublicAddress } = places;
  const lookup = guardedLookup(allowsAddress, places.lookup);
  const password = randomBytes(24).toString("base64url");
  const expected = Buffer.from(`Basic ${Buffer.from(`skein:${password}`).toString("base64")}`);
  const open = new Set<Duplex>();

  function isKnown({ headers }: IncomingMessage): boolean {
    const given = Buffer.from(headers["proxy-authorization"] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** The target of a request; undefined if its URL is not allowed. The name is not resolved yet. */
  function target(text: string): URL | undefined {
    if (!URL.canParse(text)) return undefined;
    const url = new URL(text);
    const host = hostOf(url);
    try {
      checkUrl(url, places);
    } catch {
      return undefined;
    }
    if (places.allowsHost && !places.allowsHost(host)) return undefined;
    return isIP(host) === 0 || allowsAddress(host) ? url : undefined;
  }

  function forward(incoming: IncomingMessage, answer: ServerResponse): void {
    if (!isKnown(incoming)) return void answer.writeHead(407).end();
    const url = target(incoming.url ?? "");
    if (url?.protocol !== "http:") return void answer.writeHead(403).end();
    const kept = Object.entries(incoming.headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
    // The URL decides the target, not the Host header, which may differ.
    const headers = { ...Object.fromEntries(kept), host: url.host };
    const outgoing = request(url, { method: incoming.method, headers, lookup, agent: false }, (response) => {
      const answered = Object.entries(response.headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
      answer.writeHead(response.statusCode ?? 502, Object.fromEntries(answered));
      response.pipe(answer);
      response.on("error", () => answer.destroy());
    });
    outgoing.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  function tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): void {
    hold(client);
    const refuse = (status: string): void => void client.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    if (!isKnown(incoming)) return refuse("407 Proxy Authentication Required");
    const url = target(`https://${incoming.url ?? ""}`);
    if (!url) return refuse("403 Forbidden");
    const server: Socket = connect({ host: hostOf(url), port: Number(url.port || 443), lookup });
    hold(server);
    let isOpen = false;
    server.on("connect", () => {
      isOpen = true;
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      server.write(head);
      client.pipe(server).pipe(client);
    });
    server.on("close", () => (isOpen ? client.destroy() : refuse("502 Bad Gateway")));
    client.on("close", () => server.destroy());
  }

  function hold(socket: Duplex): void {
    open.add(socket);
    // The close event reports the end of the connection.
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  }

  const server = createServer(forward).on("connect", tunnel);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (places.socket === undefined) server.listen(0, "127.0.0.1", resolve);
    else server.listen(places.socket, resolve);
  });
  // The proxy alone does not keep this process alive.
  server.unref();
  const port = places.socket === undefined ? (server.address() as AddressInfo).port : FORWARDER_PORT;
  return {
    url: `http://skein:${password}@127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
      for (const socket of open) socket.destroy();
    },
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}
