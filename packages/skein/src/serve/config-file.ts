import { pathToFileURL } from "node:url";
import { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { type Records, type Tool, createAgents, derivedId, parsed } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { type Agent, registrationsOf } from "../agent.ts";
import type { RegisteredAgent } from "../host.ts";
import { refuseUnknown } from "../known-options.ts";

/** What `skein.config.ts` exports by default: the code that agents of this server may name. */
export interface SkeinConfig {
  /** Agents made with `createAgent`: stored at the start, with their tools. */
  readonly agents?: readonly Agent[];
  /** Tools that agents made over HTTP may name. */
  readonly tools?: readonly Tool[];
  /** What requests may hand to Claude Code; everything that is left out is closed. */
  readonly claude?: z.input<typeof ClaudeSettings>;
}

export interface ServedCode {
  readonly agents: readonly RegisteredAgent[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly claude: ClaudeSettings;
}

/** Loads the code of a server from its config file; without one there is none. */
export async function loadCode(file: string | undefined): Promise<ServedCode> {
  if (file === undefined) return codeOf({});
  const loaded = (await import(pathToFileURL(file).href)) as { default?: SkeinConfig };
  if (typeof loaded.default !== "object" || loaded.default === null)
    throw new KnownError(
      "invalid",
      `${file} has no default export. Expected: export default { agents: […], tools: […] }.`,
    );
  refuseUnknown(loaded.default, ["agents", "tools", "claude"], file);
  return codeOf(loaded.default);
}

export function codeOf({ agents = [], tools = [], claude = {} }: SkeinConfig): ServedCode {
  const registered = agents.flatMap((agent) => registrationsOf(agent));
  const all = [...tools, ...registered.flatMap((one) => [...one.tools.values()])];
  return {
    agents: registered,
    tools: new Map(all.map((tool) => [tool.name, tool])),
    claude: parsed(ClaudeSettings, claude),
  };
}

/** Keeps the agents of the code as records, each under the same id at every start. A change of the code makes a version. */
export async function storeAgents(agents: readonly RegisteredAgent[], records: Records): Promise<void> {
  for (const { agent } of agents) {
    const id = derivedId("agent", agent.config.name);
    const stored = createAgents({ records, ids: () => id });
    try {
      const known = await stored.get(id);
      if (!isDeepStrictEqual(known.config, agent.config)) await stored.patch(id, agent.config);
    } catch (error) {
      if (!isKnownError(error, "not_found")) throw error;
      await stored.create(agent.config);
    }
  }
}
