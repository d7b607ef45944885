import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Tool } from "@skein/core";
import type { AgentOptions } from "skein";
import { agentWith, createAgent, importFile, isAgent } from "skein/agent";
import type { Answerer } from "../sessions/session-calls.ts";
import type { Call } from "./command.ts";
import { UsageError } from "./exit-codes.ts";
import { oneOf } from "./option-kinds.ts";
import { storeUrlFor } from "./session-command.ts";
import type { PLACE_OPTIONS } from "./shared-options.ts";

/** The options of every command that runs an agent. */
export const AGENT_OPTIONS = {
  agent: {
    takes: "FILE",
    about:
      "A file whose default export, or export named `agent`, is an agent from createAgent or options for createAgent",
  },
  tools: {
    takes: "FOLDER",
    about:
      "Give the agent Bash, Read, Write, Edit, Glob, Grep, WebFetch and TodoWrite, in this folder (not with --agent)",
  },
  skills: {
    takes: "FOLDER[,FOLDER]",
    about: "Folders with skills (SKILL.md) that the agent may load (not with --agent)",
  },
  model: { takes: "NAME", about: "The model of a new session" },
  system: { takes: "TEXT", about: "The system prompt of a new session" },
  "prompt-cache": {
    takes: "TIME",
    kind: oneOf("off", "short", "long"),
    about:
      "How long the provider keeps the conversation of a new session in its cache: off, short (minutes, the default) or long (hours)",
  },
  "agent-name": {
    takes: "NAME",
    about:
      "With --server: the name or id of an agent of the server (default: its only agent). The name skein is for a plain agent: if the server has no agent skein, the command makes it",
  },
} as const;

type AgentCall = Call<typeof AGENT_OPTIONS & typeof PLACE_OPTIONS>;

/** Tools that change something. In a conversation, these tools run only after the person agrees. */
const CHANGING = new Set(["Bash", "Write", "Edit"]);

/**
 * Returns the agent of the server or of the given file. If the user named neither, returns a plain agent that may ask
 * questions.
 */
export async function loadAgent(
  call: AgentCall,
  { asks = false, output }: { readonly asks?: boolean; readonly output?: AgentOptions["output"] } = {},
): Promise<Answerer> {
  if (call.values.server !== undefined && output)
    throw new UsageError(
      "--output-schema cannot be used with --server: an agent of a server has its own output_schema.",
    );
  if (call.values.server !== undefined) return serverAgent(call, call.values.server);
  if (call.values["agent-name"] !== undefined)
    throw new UsageError(
      "--agent-name is for an agent of a server: give --server URL too. For an agent of this machine, use --agent FILE.",
    );
  const { agent: file, tools, skills } = call.values;
  if (file !== undefined && tools !== undefined)
    throw new UsageError("--tools cannot be used with --agent: the agent in the file has its own tools.");
  if (file !== undefined && skills !== undefined)
    throw new UsageError("--skills cannot be used with --agent: the agent in the file has its own skills.");
  const change = (options: AgentOptions): AgentOptions => ({ ...changed(call, options), ...(output && { output }) });
  if (file === undefined)
    return createAgent(change({ name: "skein", tools: await ownTools(call, asks), skills: skills?.split(",") ?? [] }));
  const found = await exported(file);
  if (!isAgent(found)) return createAgent(change(found));
  // If another installed copy of Skein made the agent, the options of the agent cannot be changed.
  return agentWith(found, change) ?? found;
}

async function serverAgent({ values, config }: AgentCall, server: string): Promise<Answerer> {
  const local = (["agent", "tools", "skills", "system", "prompt-cache"] as const).filter(
    (name) => values[name] !== undefined,
  );
  if (local.length > 0)
    throw new UsageError(
      `--${local[0]} cannot be used with --server: the server has its own agents. Choose an agent with --agent-name.`,
    );
  const { connectServer } = await import("../sessions/connect-server.ts");
  const { createServerAgent } = await import("../sessions/server-agent.ts");
  return createServerAgent({ ...connectServer(server, config), agentName: values["agent-name"], model: values.model });
}

async function ownTools({ values }: AgentCall, asks: boolean): Promise<readonly Tool[]> {
  const { createAskUserQuestion, createStandardTools } = await import("@skein/adapters/tools");
  const folder = values.tools;
  if (folder !== undefined && !isFolder(folder)) throw new UsageError(`There is no folder ${folder}.`);
  const standard = folder === undefined ? [] : createStandardTools({ folder: resolve(folder) });
  const guarded = standard.map((tool) =>
    asks && CHANGING.has(tool.name) ? { ...tool, needsApproval: () => true } : tool,
  );
  return [createAskUserQuestion(), ...guarded];
}

function changed(call: AgentCall, options: AgentOptions): AgentOptions {
  const { model, system, "prompt-cache": cache, store } = call.values;
  const keepsStore = options.store !== undefined && store === undefined;
  return {
    ...options,
    ...(model !== undefined && { model }),
    ...(system !== undefined && { system_prompt: system }),
    ...(cache !== undefined && { cache }),
    ...(!keepsStore && { store: storeUrlFor(call) }),
  };
}

async function exported(file: string): Promise<object> {
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}.`);
  if (isFolder(file)) throw new UsageError(`${file} is a folder. Name a file.`);
  const module: { readonly default?: unknown; readonly agent?: unknown } = await importFile(file);
  const found = module.default ?? module.agent;
  if (typeof found === "object" && found !== null) return found;
  throw new UsageError(`${file} exports no agent. Export an agent from createAgent as default or as "agent".`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
