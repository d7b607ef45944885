import type { AgentConfig } from "@skein/protocol";
import { SKILL_TOOL } from "../ports/skill.ts";
import type { Records } from "../ports/records.ts";

/** A process that uses the store, with its agents, tools and model. */
export interface WorkerInfo {
  /** `api` only answers requests, `worker` only runs sessions, `all` does both. */
  readonly role: "all" | "api" | "worker";
  /** The name under which the process holds leases. */
  readonly owner: string;
  readonly runtimes: readonly AgentConfig["runtime"][];
  /** Agents that are defined in this process's code. */
  readonly agents: readonly string[];
  /** Tools that stored agents may name. */
  readonly tools: readonly string[];
  /** Skills that stored agents may name. */
  readonly skills: readonly string[];
  /** The service that answers the model calls of the process, in words. */
  readonly model: string;
}

/** A worker as the store shows it. */
interface KnownWorker extends WorkerInfo {
  /** A counter of heartbeats. While the counter grows, the process is alive. Times cannot show this: clocks differ. */
  readonly beat: number;
}

/** The processes that use the store. A process registers with its first heartbeat. */
export interface Workers {
  beat(worker: WorkerInfo): Promise<void>;
  /** Returns all processes, even processes that run no sessions. */
  all(): Promise<readonly KnownWorker[]>;
  /** The processes that run sessions. */
  list(): Promise<readonly KnownWorker[]>;
  /** Removes a process that has ended, or is known to be dead. */
  leave(worker: Pick<WorkerInfo, "role" | "owner">): Promise<void>;
}

/** A name that no tenant can have. */
const TENANT = "$workers";
const KIND = "worker";

export function createWorkers(records: Records): Workers {
  async function all(): Promise<readonly KnownWorker[]> {
    const { items } = await records.list({ tenant: TENANT, kind: KIND, limit: 200 });
    return items.map(({ value, version }) => ({ ...(value as WorkerInfo), beat: version }));
  }

  return {
    async beat(worker) {
      await records.put([{ tenant: TENANT, kind: KIND, id: idOf(worker), value: worker }]);
    },
    all,
    list: async () => (await all()).filter(({ role }) => role !== "api"),
    async leave(worker) {
      await records.delete(TENANT, KIND, idOf(worker));
    },
  };
}

/** Makes the id of a process. Several servers in a process share this id. */
function idOf({ role, owner }: Pick<WorkerInfo, "role" | "owner">): string {
  return `${role}:${owner}`;
}

/** Returns the skills of an agent that a process does not have. */
export function missingSkills(agent: AgentConfig, own: readonly string[]): readonly string[] {
  return (agent.skills ?? []).map(({ name }) => name).filter((name) => !own.includes(name));
}

/** Returns what a worker lacks for an agent, in words. Empty if the worker has everything. */
export function lacking(worker: WorkerInfo, agent: AgentConfig): readonly string[] {
  const lacks: string[] = [];
  if (!worker.runtimes.includes(agent.runtime)) lacks.push(`runtime ${agent.runtime}`);
  if (agent.runtime !== "loop" || worker.agents.includes(agent.name)) return lacks;
  const { frontend_tools: frontend } = agent.extras;
  for (const name of missingSkills(agent, worker.skills)) lacks.push(`skill ${name}`);
  for (const { name } of agent.tool_schemas)
    if (name !== SKILL_TOOL && !worker.tools.includes(name) && !(Array.isArray(frontend) && frontend.includes(name)))
      lacks.push(`tool ${name}`);
  return lacks;
}
