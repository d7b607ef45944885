import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./start-cluster.ts";

/** A fault of a cluster, and its repair. */
export interface Fault {
  readonly name: string;
  /** Causes the fault and repairs it. */
  strike(): Promise<void>;
  /** Whether no session can continue during the fault, because the store is unavailable. */
  readonly stopsStore?: true;
}

/** A killed process is restarted after this time, as a supervisor would do. */
const RESTART_MS = 700;

/** Every fault of the chaos run: processes of each kind, connections, and the services that Skein uses. */
export function faultsOf(cluster: Cluster, { postgresDownMs }: { readonly postgresDownMs: number }): readonly Fault[] {
  const { processes, restate, redis, postgres, s3, apis, workers } = cluster;
  const killed = ({ name, kill, start }: Killable): Fault => ({
    name: `kill -9 ${name}`,
    async strike() {
      await kill();
      await sleep(RESTART_MS);
      await start();
    },
  });
  return [
    ...processes.map(killed),
    ...restate.nodes.map(killed),
    killed({ name: "redis", kill: redis.kill, start: redis.start }),
    killed({ name: "s3", kill: s3.kill, start: s3.start }),
    { name: "redis FLUSHALL", strike: async () => void redis.ask("FLUSHALL") },
    { name: "cut the links of the workers", strike: async () => workers.cut() },
    { name: "cut the links of the api processes", strike: async () => apis.cut() },
    { name: "restart PostgreSQL", stopsStore: true, strike: () => postgres.restart() },
    {
      name: `stop PostgreSQL for ${postgresDownMs / 1000} s`,
      stopsStore: true,
      async strike() {
        await postgres.crash();
        await sleep(postgresDownMs);
        await postgres.start();
      },
    },
  ];
}

interface Killable {
  readonly name: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}
