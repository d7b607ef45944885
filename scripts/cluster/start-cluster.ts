import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { registerDeployment } from "@skein/adapters/engines/restate/deployments";
import { createSimulator } from "@skein/simulator";
import { type Balancer, startBalancer } from "../balancer.ts";
import { freePort } from "../free-port.ts";
import { type Postgres, startPostgres } from "../postgres.ts";
import { type Redis, startRedis } from "../redis.ts";
import { type Restate, startRestate } from "../restate.ts";
import { type S3Server, startS3 } from "./s3.ts";
import { COUNTS, type Places, environmentOf } from "./topology.ts";

/** One process of Skein in the cluster. */
interface ClusterProcess {
  readonly name: string;
  readonly role: "api" | "worker";
  readonly url: string;
  readonly pid: () => number | undefined;
  /** Whether the process ended without being killed. */
  readonly hasEnded: () => boolean;
  /** Kills the process, like a crash. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A running cluster on this machine. */
export interface Cluster {
  readonly folder: string;
  /** The address of the load balancer in front of the api processes. */
  readonly url: string;
  readonly apiKey: string;
  readonly processes: readonly ClusterProcess[];
  readonly restate: Restate;
  readonly postgres: Postgres;
  readonly redis: Redis;
  readonly s3: S3Server;
  readonly simulator: Awaited<ReturnType<typeof createSimulator>>;
  readonly apis: Balancer;
  readonly workers: Balancer;
  readonly places: Places;
  stop(): Promise<void>;
}

interface ClusterOptions {
  readonly api?: number;
  readonly worker?: number;
  readonly restate?: number;
  /** A `skein.config.ts` with agents and tools. */
  readonly config?: string;
  /**
   * Whether answers are marked as simulated and free. By default, Skein treats the simulator as a real model with
   * prices.
   */
  readonly isSimulation?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** If this signal has aborted when the start fails, no log is kept. */
  readonly signal?: AbortSignal;
}

const API_KEY = "sk-skein-cluster-on-this-machine";
const READY_MS = 150_000;
const COMMAND = fileURLToPath(new URL("../../packages/cli/bin/skein.js", import.meta.url));

/**
 * Starts a cluster. If a part does not start, all other parts are stopped, and the folder with the logs is kept unless
 * `signal` has aborted.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "skein-cluster-"));
  const parts = createParts();
  try {
    return await startParts(options, folder, parts);
  } catch (error) {
    await parts.stop();
    if (options.signal?.aborted) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The parts of a cluster that were started, or are being started. */
interface Parts {
  add<Part>(starting: Promise<Part>, stop: (part: Part) => Promise<unknown>): Promise<Part>;
  /** Stops all parts. Waits first for parts that are being started. */
  stop(): Promise<void>;
}

function createParts(): Parts {
  const started: Promise<(() => Promise<unknown>) | undefined>[] = [];
  return {
    add(starting, stop) {
      started.push(
        starting.then(
          (part) => () => stop(part),
          () => undefined,
        ),
      );
      return starting;
    },
    async stop() {
      const stops = await Promise.all(started);
      // The processes were added last. They are stopped first, while their database is running.
      for (const stop of stops.toReversed()) await stop?.();
    },
  };
}

async function startParts(options: ClusterOptions, folder: string, parts: Parts): Promise<Cluster> {
  const { api = COUNTS.api, worker = COUNTS.worker, restate: nodes = COUNTS.restate } = options;
  const [simulator, postgres, redis, s3, apis, workers, restate] = await Promise.all([
    parts.add(createSimulator(), (part) => part.close()),
    parts.add(startPostgres({ prefix: "skein-cluster-pg-" }), (part) => part.stop()),
    parts.add(startRedis(), (part) => part.stop()),
    parts.add(startS3(join(folder, "s3")), (part) => part.stop()),
    parts.add(startBalancer(), (part) => part.close()),
    parts.add(startBalancer(), (part) => part.close()),
    parts.add(startRestate({ nodes, folder: join(folder, "restate") }), (part) => part.stop()),
  ]);
  const places: Places = {
    postgres: postgres.url,
    redis: redis.url,
    s3,
    restate: restate.nodes.map(({ ingressUrl }) => ingressUrl),
    restateAdmin: restate.nodes[0]?.adminUrl ?? "",
    identityKey: restate.identityKey,
    workers: `http://127.0.0.1:${workers.port}`,
    model: { url: simulator.url, key: "sk-ant-simulated" },
    apiKey: API_KEY,
    secretsKey: randomBytes(32).toString("base64"),
  };
  const processes: ClusterProcess[] = [];
  void parts.add(Promise.resolve(processes), (all) => Promise.all(all.map((process_) => process_.kill())));
  for (const [role, count] of [
    ["api", api],
    ["worker", worker],
  ] as const)
    for (let n = 1; n <= count; n++) {
      const [port, endpointPort] = [await freePort(), await freePort()];
      const dataDir = join(folder, `${role}-${n}`);
      mkdirSync(dataDir, { recursive: true });
      const simulation = { SKEIN_MODEL: "simulation", SKEIN_SIMULATOR_URL: simulator.url };
      const env = {
        ...environmentOf({ role, port, endpointPort, dataDir }, places),
        ...(options.isSimulation && simulation),
        ...options.env,
      };
      processes.push(createProcess({ name: `${role}-${n}`, role, port, env, folder, config: options.config }));
      if (role === "api") apis.add(port);
      else workers.add(endpointPort);
    }
  // The first process migrates the schema; the others find it up to date.
  for (const process_ of processes.slice(0, 1)) await process_.start();
  await Promise.all(processes.slice(1).map((process_) => process_.start()));
  // With the local engine there is nothing to register, because the workers do not listen for Restate.
  if (options.env?.["SKEIN_ENGINE"] !== "local") await registerDeployment({ url: places.restateAdmin }, places.workers);
  return {
    folder,
    url: `http://127.0.0.1:${apis.port}`,
    apiKey: API_KEY,
    processes,
    restate,
    postgres,
    redis,
    s3,
    simulator,
    apis,
    workers,
    places,
    async stop() {
      await parts.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface ProcessOptions extends Pick<ClusterProcess, "name" | "role"> {
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly config: string | undefined;
}

function createProcess({ name, role, port, env, folder, config }: ProcessOptions): ClusterProcess {
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const log = openSync(join(folder, `${name}.log`), "a");
    const node = [process.execPath, "--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];
    const command = [...node, COMMAND, "serve", ...(config === undefined ? [] : ["--config", config])];
    const started = spawn("setpriv", ["--pdeathsig", "KILL", ...command], {
      stdio: ["ignore", log, log],
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    });
    child = started;
    const end = Date.now() + READY_MS;
    while (!(await isReady(url))) {
      if (started.exitCode !== null || started.signalCode !== null)
        throw new Error(`${name} ended: see ${name}.log in ${folder}.`);
      if (Date.now() > end) throw new Error(`${name} did not start in ${READY_MS / 1000} s.`);
      await sleep(25);
    }
  }

  return {
    name,
    role,
    url,
    pid: () => child?.pid,
    hasEnded: () => child !== undefined && (child.exitCode !== null || child.signalCode !== null),
    start,
    async kill() {
      const ending = child;
      child = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      ending.kill("SIGKILL");
      await once(ending, "exit");
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
