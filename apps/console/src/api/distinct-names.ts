import { when } from "../ui/times.ts";
import type { Agent } from "./api.ts";

/** The names of agents by their ids. Agents with the same name also have the end of their id and the time when they were made. */
export function distinctNames(
  agents: readonly Pick<Agent, "id" | "name" | "created_at">[],
): ReadonlyMap<string, string> {
  const same = Map.groupBy(agents, ({ name }) => name);
  return new Map(
    agents.map(({ id, name, created_at }) => [
      id,
      same.get(name)?.length === 1 ? name : `${name} …${id.slice(-4)}, made ${when(created_at)}`,
    ]),
  );
}
