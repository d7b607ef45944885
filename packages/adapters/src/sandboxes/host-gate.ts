import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostGate, isHostAmong } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { findProgram } from "./find-program.ts";
import { FORWARDER_PORT, type ProxyOptions, createGuardedProxy } from "./guarded-proxy.ts";

/** The path of the proxy's socket in the sandbox. */
export const PROXY_SOCKET = "/run/proxy.sock";

/**
 * Forwards a port to the proxy's socket, and then runs the program in the arguments. Programs need a port for a proxy,
 * but the sandbox has only a socket.
 */
const FORWARD = `
socat TCP-LISTEN:${FORWARDER_PORT},bind=127.0.0.1,fork,nodelay UNIX-CONNECT:${PROXY_SOCKET} &
for ((tries = 0; tries < 200; tries++)); do
  ( : <> /dev/tcp/127.0.0.1/${FORWARDER_PORT} ) 2>/dev/null && break
  sleep 0.01
done
exec "$@"
`;

/** Wraps a command so that its program can use the proxy at the address in `HTTP_PROXY`. */
export const withForwarder = (command: string): { readonly command: string; readonly before: readonly string[] } => ({
  command: "/bin/bash",
  before: ["-c", FORWARD, "forward", command],
});

/** The addresses that are allowed besides public addresses, and the function that resolves names. */
export type GatePlaces = Pick<ProxyOptions, "allowsAddress" | "allowsPort" | "lookup">;

/** Opens a way out of a sandbox, which leads only to these hosts. Returns undefined for an empty list. */
export async function openHosts(hosts: readonly string[], places: GatePlaces = {}): Promise<HostGate | undefined> {
  if (hosts.length === 0) return undefined;
  if (findProgram("socat") === undefined)
    throw new KnownError(
      "invalid",
      'A session in a sandbox reaches hosts through socat, which is not on this machine. On Debian: "apt-get install socat".',
    );
  const folder = mkdtempSync(join(tmpdir(), "skein-hosts-"));
  const socket = join(folder, "proxy.sock");
  const proxy = await createGuardedProxy({ ...places, socket, allowsHost: (host) => isHostAmong(hosts, host) });
  return {
    place: { path: socket, access: "read", inside: PROXY_SOCKET },
    env: {
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      http_proxy: proxy.url,
      https_proxy: proxy.url,
      // Calls of the model go through the broker's socket.
      NO_PROXY: "127.0.0.1,localhost,::1,broker",
    },
    close() {
      proxy.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
