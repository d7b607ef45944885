import { when } from "../ui/times.ts";
import type { Agent } from "./api.ts";

type Named = Pick<Agent, "id" | "name">;

/** Returns the names of agents by their ids. If several agents have the same name, adds the end of the id. */
export function distinctNames(agents: readonly Named[]): ReadonlyMap<string, string> {
  const same = Map.groupBy(agents, ({ name }) => name);
  return new Map(agents.map(({ id, name }) => [id, same.get(name)?.length === 1 ? name : `${name} …${id.slice(-4)}`]));
}

/** Returns the names of `distinctNames` for menus. If several agents have the same name, adds the creation time. */
export function datedNames(agents: readonly (Named & Pick<Agent, "created_at">)[]): ReadonlyMap<string, string> {
  const distinct = distinctNames(agents);
  return new Map(
    agents.map(({ id, name, created_at }) => {
      const own = distinct.get(id) ?? name;
      return [id, own === name ? name : `${own}, made ${when(created_at)}`];
    }),
  );
}
