import { randomBytes, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http";
import { type AddressInfo, type Socket, connect, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type GuardedRequestOptions, checkUrl, guardedLookup } from "../tools/guarded-request.ts";
import { isPublicAddress } from "../tools/public-address.ts";

/** A proxy for child processes. It listens on loopback or on a socket, and rejects requests without its password. */
export interface GuardedProxy {
  /**
   * The address for HTTP_PROXY and HTTPS_PROXY: `http://user:password@127.0.0.1:port`. With a socket, the port is that
   * of the forwarder in the sandbox.
   */
  readonly url: string;
  close(): void;
}

export interface ProxyOptions extends Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort" | "lookup"> {
  /** Returns true if a host with this name may be called. Default: every public host. */
  readonly allowsHost?: (host: string) => boolean;
  /** The Unix socket to listen on, instead of a port. */
  readonly socket?: string;
}

/**
 * The port of the forwarder in a sandbox. The forwarder is needed because programs can only use a proxy with a port.
 */
export const FORWARDER_PORT = 3128;

/** Headers about the connection itself. They are not forwarded. */
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
 * Creates a proxy that resolves a name, checks the address, and connects to the checked address. Without the proxy,
 * Claude Code would resolve the names of MCP servers itself, and a name could resolve to another address after the
 * check.
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

  /** Returns the target of a request, or undefined if its URL is not allowed. Does not resolve the name. */
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
    // The URL decides the target. The Host header may differ and is replaced.
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
    // The handler of `close` handles the end of the connection.
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  }

  const server = createServer(forward).on("connect", tunnel);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (places.socket === undefined) server.listen(0, "127.0.0.1", resolve);
    else server.listen(places.socket, resolve);
  });
  // The proxy must not keep this process running.
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
