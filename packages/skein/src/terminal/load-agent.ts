import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Tool } from "@skein/core";
import { type Agent, type AgentOptions, createAgent, remade } from "../agent.ts";
import { UsageError } from "./exit.ts";
import { type Call, storeUrlFor, text } from "./session-command.ts";

export const AGENT_OPTIONS = [
  ["agent", "FILE", "A module whose default export, or export `agent`, is made by createAgent (or its options)"],
  ["tools", "FOLDER", "Without --agent: Bash, Read, Write, Edit, Glob, Grep, WebFetch and TodoWrite, in this folder"],
  ["model", "NAME", "The model of a new session"],
  ["system", "TEXT", "The system prompt of a new session"],
] as const;

/** Tools that change something: a conversation asks before it uses them. */
const CHANGING = new Set(["Bash", "Write", "Edit"]);

/** The agent of a command: the one in the file it names, else a plain one that may ask questions. */
export async function loadAgent(call: Call, { asks = false }: { readonly asks?: boolean } = {}): Promise<Agent> {
  const file = text(call.values, "agent");
  const change = (options: AgentOptions): AgentOptions => changed(call, options);
  if (file === undefined) return createAgent(change({ name: "skein", tools: await ownTools(call, asks) }));
  const found = await exported(file);
  if (!isAgent(found)) return createAgent(change(found));
  // An agent of another copy of Skein is taken as it is, with the store that it has.
  return remade(found, change) ?? found;
}

async function ownTools({ values }: Call, asks: boolean): Promise<readonly Tool[]> {
  const { createAskUserQuestion, createStandardTools } = await import("@skein/adapters/tools");
  const folder = text(values, "tools");
  const standard = folder === undefined ? [] : createStandardTools({ folder: resolve(folder) });
  const guarded = standard.map((tool) =>
    asks && CHANGING.has(tool.name) ? { ...tool, needsApproval: () => true } : tool,
  );
  return [createAskUserQuestion(), ...guarded];
}

function changed(call: Call, options: AgentOptions): AgentOptions {
  const { values } = call;
  const model = text(values, "model");
  const system = text(values, "system");
  const keepsStore = options.store !== undefined && text(values, "store") === undefined;
  return {
    ...options,
    ...(model !== undefined && { model }),
    ...(system !== undefined && { system_prompt: system }),
    ...(!keepsStore && { store: storeUrlFor(call) }),
  };
}

async function exported(file: string): Promise<object> {
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}.`);
  let module: { readonly default?: unknown; readonly agent?: unknown };
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as typeof module;
  } catch (error) {
    if (!(error instanceof Error)) throw new UsageError(`${file} could not be loaded: ${String(error)}`);
    throw new UsageError(`${file}${lineOf(error, file)} could not be loaded: ${error.message}`);
  }
  const found = module.default ?? module.agent;
  if (typeof found === "object" && found !== null) return found;
  throw new UsageError(
    `${file} exports no agent. Expected a default export, or one named "agent", made by createAgent.`,
  );
}

/** Where in a file something went wrong, as `:LINE`, if the stack says so. */
function lineOf({ stack = "" }: Error, file: string): string {
  const address = pathToFileURL(resolve(file)).href;
  const after = stack.slice(stack.indexOf(address) + address.length);
  return stack.includes(address) ? (/^:\d+/.exec(after)?.[0] ?? "") : "";
}

function isAgent(value: object): value is Agent {
  const { run, stream, sessions } = value as Partial<Agent>;
  return typeof run === "function" && typeof stream === "function" && typeof sessions === "function";
}
