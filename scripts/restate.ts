/**
 * Starts Restate from npm's binary on loopback for tests, benchmarks and the local cluster. Restate ends when this
 * process ends.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identityKeyOf, newIdentity } from "@skein/adapters/engines/restate/identity";
import { freePort } from "./free-port.ts";

/** One server of a Restate cluster. */
export interface RestateNode {
  readonly name: string;
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly pid: () => number | undefined;
  /** Kills the server like a crash. Its files stay. */
  kill(): Promise<void>;
  /** Starts the server again on the same ports and files. */
  start(): Promise<void>;
}

export interface Restate {
  readonly nodes: readonly RestateNode[];
  /** The public key for the cluster's request signatures, in the form that an endpoint needs. */
  readonly identityKey: string;
  stop(): Promise<void>;
}

const READY_MS = 60_000;

/** Why tests cannot use Restate. Undefined if Restate is installed. */
export const noRestate: string | undefined = binary() === undefined ? "the Restate server is not installed" : undefined;

/** Starts a server, or a cluster of servers in which each log is stored on two servers. */
export async function startRestate({
  nodes: count = 1,
  folder: given = undefined as string | undefined,
} = {}): Promise<Restate> {
  const folder = given ?? mkdtempSync(join(tmpdir(), "skein-restate-"));
  mkdirSync(folder, { recursive: true });
  const identity = newIdentity();
  const pem = join(folder, "identity.pem");
  writeFileSync(pem, identity, { mode: 0o600 });
  const places: Place[] = [];
  for (let n = 1; n <= count; n++) {
    const [fabric, ingress, admin] = [await freePort(), await freePort(), await freePort()];
    places.push({ name: `restate-${n}`, folder, fabric, ingress, admin });
  }
  const nodes = places.map((place) => createNode(place, { places, pem }));
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.kill())));
  await Promise.all(nodes.map((node) => node.start())).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    nodes,
    identityKey: identityKeyOf(identity),
    async stop() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly name: string;
  readonly folder: string;
  readonly fabric: number;
  readonly ingress: number;
  readonly admin: number;
}

function createNode(place: Place, cluster: { readonly places: readonly Place[]; readonly pem: string }): RestateNode {
  const { name, folder, ingress, admin } = place;
  const config = join(folder, `${name}.toml`);
  writeFileSync(config, configOf(place, cluster));
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const log = openSync(join(folder, `${name}.log`), "a");
    // With `--pdeathsig`, the server ends even if the test process is killed.
    const command = ["--pdeathsig", "KILL", binary() ?? "restate-server", "--no-logo", "--config-file", config];
    const child = spawn("setpriv", command, { stdio: ["ignore", log, log], env: { PATH: process.env["PATH"] ?? "" } });
    server = child;
    const end = Date.now() + READY_MS;
    while (
      !(await isHealthy(`http://127.0.0.1:${admin}/health`)) ||
      !(await isHealthy(`http://127.0.0.1:${ingress}/restate/health`))
    ) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${name} ended: ${lastLine(join(folder, `${name}.log`))} Its log is in ${folder}.`);
      if (Date.now() > end) throw new Error(`${name} did not start in ${READY_MS / 1000} s.`);
      await sleep(20);
    }
  }

  return {
    name,
    ingressUrl: `http://127.0.0.1:${ingress}`,
    adminUrl: `http://127.0.0.1:${admin}`,
    pid: () => server?.pid,
    start,
    async kill() {
      const ending = server;
      server = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      ending.kill("SIGKILL");
      await once(ending, "exit");
    },
  };
}

function lastLine(file: string): string {
  return readFileSync(file, "utf8").trim().split("\n").at(-1) ?? "";
}

/** Returns a configuration with low memory use, fast detection of a worker that hangs, and no telemetry. */
function configOf(place: Place, { places, pem }: { readonly places: readonly Place[]; readonly pem: string }): string {
  const isCluster = places.length > 1;
  const addresses = places.map(({ fabric }) => `"http://127.0.0.1:${fabric}/"`).join(", ");
  return `
cluster-name = "skein"
node-name = "${place.name}"
base-dir = "${join(place.folder, place.name)}"
auto-provision = ${place === places[0]}
default-num-partitions = ${isCluster ? 6 : 4}
default-replication = ${isCluster ? 2 : 1}
bind-ip = "127.0.0.1"
bind-port = ${place.fabric}
advertised-address = "http://127.0.0.1:${place.fabric}/"
listen-mode = "tcp"
disable-telemetry = true
log-filter = "warn"
log-format = "compact"
log-disable-ansi-codes = true
rocksdb-total-memory-size = "256 MiB"
shutdown-timeout = "1s"

[metadata-client]
addresses = [${addresses}]

[worker.invoker]
${invokerSettings(pem)}

[admin]
bind-ip = "127.0.0.1"
bind-port = ${place.admin}
advertised-address = "http://127.0.0.1:${place.admin}/"
disable-web-ui = true

[ingress]
bind-ip = "127.0.0.1"
bind-port = ${place.ingress}
advertised-address = "http://127.0.0.1:${place.ingress}/"
`;
}

/** Returns the settings for Restate's calls to workers. `deploy/compose.yaml` has the same settings. */
export function invokerSettings(pem: string): string {
  return `request-identity-private-key-pem-file = "${pem}"
http2-keep-alive-interval = "1s"
http2-keep-alive-timeout = "8s"
connect-timeout = "3s"
http2-streams-per-connection-limit = 8`;
}

/** Returns as TOML what a Restate server reads from these environment variables. */
export function configFrom(variables: Readonly<Record<string, string>>): string {
  const { stdout, stderr, status } = spawnSync(binary() ?? "restate-server", ["--dump-config"], {
    env: { PATH: process.env["PATH"] ?? "", ...variables },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`restate-server rejected the variables: ${stderr}`);
  return stdout;
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false;
  }
}

function binary(): string | undefined {
  try {
    const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
    return createRequire(import.meta.url).resolve(`${name}/bin/restate-server`);
  } catch {
    return undefined;
  }
}
