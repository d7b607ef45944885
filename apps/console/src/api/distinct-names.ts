import { when } from "../ui/times.ts";
import type { Agent } from "./api.ts";

type Named = Pick<Agent, "id" | "name">;

/** Returns the names of agents by their ids. Adds the end of the id and the creation time to the names of agents with the same name. */
export function distinctNames(agents: readonly Named[]): ReadonlyMap<string, string> {
  const same = Map.groupBy(agents, ({ name }) => name);
  return new Map(agents.map(({ id, name }) => [id, same.get(name)?.length === 1 ? name : `${name} …${id.slice(-4)}`]));
}

/** Like `distinctNames`, and agents with the same name also have the time when they were made. For menus. */
export function datedNames(agents: readonly (Named & Pick<Agent, "created_at">)[]): ReadonlyMap<string, string> {
  const distinct = distinctNames(agents);
  return new Map(
    agents.map(({ id, name, created_at }) => {
      const own = distinct.get(id) ?? name;
      return [id, own === name ? name : `${own}, made ${when(created_at)}`];
    }),
  );
}
