import { useQuery } from "@tanstack/react-query";
import { useAgents, useApi } from "./context.tsx";
import { distinctNames } from "./distinct-names.ts";

/**
 * Returns a function for the name of an agent: its distinct name if this server stores the agent, else the given name.
 */
export function useDistinctName(): (id: string, name: string) => string {
  const agents = useAgents();
  const names = distinctNames(agents.data ?? []);
  return (id, name) => names.get(id) ?? name;
}

interface AgentNames {
  nameOf(id: string): string;
  /** Whether this server stores the agent, so that the agent has a page. */
  isHere(id: string): boolean;
}

/**
 * Returns the names of agents by their ids. The server does not store agents from a file or from the command line, so
 * their names come from their sessions.
 */
export function useAgentNames(ids: readonly string[]): AgentNames {
  const api = useApi();
  const agents = useAgents();
  const here = distinctNames(agents.data ?? []);
  const others = agents.data ? ids.filter((id) => id !== "" && !here.has(id)).toSorted() : [];
  const found = useQuery({
    queryKey: ["agents", "elsewhere", ...others],
    queryFn: async () => new Map(await Promise.all(others.map(async (id) => [id, await api.agentNameOf(id)] as const))),
    enabled: others.length > 0,
    staleTime: Infinity,
  });
  return {
    nameOf(id) {
      const name = here.get(id);
      if (name !== undefined) return name;
      if (!agents.data || !found.data?.has(id)) return "…";
      const elsewhere = found.data.get(id);
      return elsewhere === undefined ? "An agent without sessions" : `${elsewhere}, from a file or the command line`;
    },
    isHere: (id) => here.has(id),
  };
}
