import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sandbox, type SandboxLimits, isHostAmong } from "@skein/core";
import type { ModelBroker } from "../../sandboxes/model-broker/index.ts";
import { KnownError } from "@skein/protocol";
import { findProgram } from "../../sandboxes/find-program.ts";
import { type ProxyOptions, createGuardedProxy } from "./guarded-proxy.ts";

/** What stands between Claude Code and the rest of the machine. */
export interface ClaudeWalls {
  readonly sandbox: Sandbox;
  /** The way to the model, so that the real key stays outside. */
  readonly broker: ModelBroker;
  readonly limits?: SandboxLimits;
  /** Hosts that every session may call: names, or `*.name` for all below one. */
  readonly hosts?: readonly string[];
  /** What may be called besides public addresses. */
  readonly places?: Pick<ProxyOptions, "allowsAddress" | "allowsPort" | "lookup">;
}

/** The way out of one sandbox to the hosts that were opened for it. */
export interface HostGate {
  /** The socket, outside of the sandbox. */
  readonly socket: string;
  /** The variables that lead programs there. */
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

/** Opens a way to these hosts and to no others; undefined if there are none. */
export async function openHosts(
  hosts: readonly string[],
  places: ClaudeWalls["places"] = {},
): Promise<HostGate | undefined> {
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
    socket,
    env: {
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      http_proxy: proxy.url,
      https_proxy: proxy.url,
      // The model is reached through a socket of its own.
      NO_PROXY: "127.0.0.1,localhost,::1,broker",
    },
    close() {
      proxy.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
