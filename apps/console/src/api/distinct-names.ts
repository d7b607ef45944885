import { when } from "../ui/times.ts";
import type { Agent } from "./api.ts";

type Named = Pick<Agent, "id" | "name">;

/** The names of agents by their ids. Agents with the same name also have the end of their id: `Helper …14e4`. */
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
