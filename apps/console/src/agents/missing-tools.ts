import { useQuery } from "@tanstack/react-query";
import type { Agent } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { DEMO_TOOL } from "../home/demo.ts";
import { visibleLine } from "../text/safe-text.ts";
import { frontendNames } from "./form-values.ts";

/** Tools that a server has without listing them: the tool of the demo, and the tool that reads skills. */
const UNLISTED: ReadonlySet<string> = new Set([DEMO_TOOL, "load_skill"]);

/** The tools whose code is on this server. */
export function useTools() {
  const api = useApi();
  return useQuery({ queryKey: ["tools"], queryFn: () => api.tools(), staleTime: 60_000 });
}

/**
 * Returns a function that names the tools of an agent that this server does not have. Without them, no session of the
 * agent runs.
 */
export function useMissingTools(): (agent: Agent) => readonly string[] {
  const { data } = useTools();
  return (agent) => (data ? missingTools(agent, data) : []);
}

function missingTools(agent: Agent, known: readonly { readonly name: string }[]): readonly string[] {
  // Claude Code has tools of its own.
  if (agent.config.runtime !== "loop") return [];
  const there = new Set([...known.map(({ name }) => name), ...frontendNames(agent), ...UNLISTED]);
  return agent.config.tool_schemas.map(({ name }) => name).filter((name) => !there.has(name));
}

/** What the missing tools mean for the sessions of the agent. */
export function missingSentence(names: readonly string[]): string {
  const [tools, them] = names.length === 1 ? ["tool", "this tool"] : ["tools", "these tools"];
  return `This server does not have the ${tools} ${names.map(visibleLine).join(", ")}. A session of this agent waits until a server with ${them} runs.`;
}
