import { checkAgentSettings } from "./agent-settings.ts";
import { type Agent, AgentConfig, type Ids, KnownError, Tags, Uuid, createIds } from "@skein/protocol";
import { z } from "zod";
import { parseInput } from "./parse-input.ts";
import type { Records, StoredRecord } from "../ports/records.ts";
import type { Page } from "../ports/store.ts";

/** The agent of a new session: a stored agent, or only a configuration. */
export type SessionAgent = Pick<Agent, "id" | "version" | "status"> & { readonly config: AgentConfig };

export interface AgentsDeps {
  readonly records: Records;
  readonly tenant?: string;
  readonly now?: () => number;
  readonly ids?: Ids;
}

const CreateAgent = z.strictObject({
  ...AgentConfig.shape,
  tags: Tags.default([]),
  default_model_id: Uuid.nullable().default(null),
});

/** Agents are configuration. Every change makes a new version; a session keeps the version that it began with. */
export interface Agents {
  /** Creates an agent. If an agent with this `id` exists, the request is a repetition and gets that agent. */
  create(agent: z.input<typeof CreateAgent>, id?: string): Promise<Agent>;
  get(id: string): Promise<Agent>;
  /** The agent as it was at one version. */
  version(id: string, version: number): Promise<Agent>;
  /** Returns the versions of an agent, newest first. `cursor` selects the versions before it. */
  versions(id: string, page?: { limit?: number; cursor?: string }): Promise<Page<Agent>>;
  list(query?: { status?: Agent["status"]; tag?: string; limit?: number; cursor?: string }): Promise<Page<Agent>>;
  /** Changes the given fields. If `expect` is given, the agent must still have that version. */
  patch(id: string, patch: Partial<z.input<typeof CreateAgent>>, expect?: number): Promise<Agent>;
  archive(id: string): Promise<Agent>;
  /** Restores an archived agent. */
  restore(id: string): Promise<Agent>;
}

export function createAgents({
  records,
  tenant = "default",
  now = Date.now,
  ids = createIds({ now }),
}: AgentsDeps): Agents {
  async function get(id: string): Promise<Agent> {
    const record = await records.get(tenant, "agent", id);
    if (!record) throw new KnownError("not_found", `There is no agent ${id}.`);
    return record.value as Agent;
  }

  /** Stores the current version and its copy in the history, in one transaction. */
  async function save(agent: Agent, expect: number): Promise<Agent> {
    const fields = { status: agent.status, tag: agent.tags };
    await records.put([
      { tenant, kind: "agent", id: agent.id, value: agent, fields, expect },
      { tenant, kind: "agent_version", id: versionId(agent.id, agent.version), value: agent, expect: 0 },
    ]);
    return agent;
  }

  async function change(
    id: string,
    expect: number | undefined,
    changed: (agent: Agent) => Partial<Agent>,
  ): Promise<Agent> {
    const agent = await get(id);
    const version = expect ?? agent.version;
    const next = { ...agent, ...changed(agent) };
    // A patch without a change makes no new version.
    if (version === agent.version && JSON.stringify(next) === JSON.stringify(agent)) return agent;
    return save({ ...next, version: version + 1, updated_at: new Date(now()).toISOString() }, version);
  }

  async function version(id: string, number: number): Promise<Agent> {
    const record = await records.get(tenant, "agent_version", versionId(id, number));
    if (!record) throw new KnownError("not_found", `There is no version ${number} of agent ${id}.`);
    return record.value as Agent;
  }

  return {
    async create(input, id) {
      const at = new Date(now()).toISOString();
      const columns = checkedColumns(input);
      const known = id === undefined ? undefined : await records.get(tenant, "agent", id);
      if (known) return known.value as Agent;
      return save({ id: id ?? ids(), version: 1, ...columns, status: "active", created_at: at, updated_at: at }, 0);
    },
    get,
    version,
    async versions(id, { limit = 50, cursor } = {}) {
      const agent = await get(id);
      const last = Math.min(agent.version, cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor) - 1);
      const numbers = Array.from({ length: Math.max(0, Math.min(limit, last)) }, (_, at) => last - at);
      const items = await Promise.all(numbers.map((number) => version(id, number)));
      const first = items.at(-1)?.version ?? 1;
      return { items, cursor: first > 1 ? String(first) : null };
    },
    async list({ status, tag, limit, cursor } = {}) {
      const field = tag === undefined ? status && { name: "status", value: status } : { name: "tag", value: tag };
      const page = await records.list({
        tenant,
        kind: "agent",
        ...(field && { field }),
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
      });
      const agents = page.items.map((record: StoredRecord) => record.value as Agent);
      return { items: agents.filter((agent) => status === undefined || agent.status === status), cursor: page.cursor };
    },
    patch: (id, input, expect) =>
      change(id, expect, (agent) => {
        const { tags, default_model_id } = agent;
        return checkedColumns({ ...agent.config, tags, default_model_id, ...input });
      }),
    archive: (id) => change(id, undefined, () => ({ status: "archived" })),
    restore: (id) => change(id, undefined, () => ({ status: "active" })),
  };
}

function checkedColumns(input: unknown) {
  const parsed = parseInput(CreateAgent, input);
  checkAgentSettings(parsed);
  return columnsOf(parsed);
}

/** Returns the fields that the platform API shows separately, and the whole configuration as `config`. */
function columnsOf({ tags, default_model_id, ...config }: z.output<typeof CreateAgent>) {
  const { name, description, system_prompt } = config;
  return { name, description, system_prompt, default_model_id, tags, config };
}

function versionId(id: string, version: number): string {
  return `${id}/${String(version).padStart(9, "0")}`;
}
