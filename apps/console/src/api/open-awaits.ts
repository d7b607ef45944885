import type { Client } from "@skein/client";
import type { RouteOutput } from "@skein/protocol";

/** Something that a session waits for a person to answer, with the session it belongs to. */
export type Waiting = RouteOutput<"listAwaits">["data"][number] & {
  readonly session: Pick<RouteOutput<"getSession">, "id" | "title" | "agent_id" | "cost_micros">;
};

/** How many sessions are asked at once. */
const AT_ONCE = 8;

/**
 * What all sessions wait for from a person, the oldest first. There is no route for it yet (NEEDS.md): the sessions that
 * are under way are listed, and each that waits is asked.
 */
export async function openAwaits(client: Client): Promise<Waiting[]> {
  const { data } = await client.listSessions({ query: { status: "running", limit: 200 } });
  const waiting = data.filter(({ activity }) => activity === "awaiting");
  const found: Waiting[] = [];
  for (let at = 0; at < waiting.length; at += AT_ONCE) {
    const some = waiting.slice(at, at + AT_ONCE).map(async (session) => {
      const { data: awaits } = await client.listAwaits({ params: { session_id: session.id } });
      return awaits.filter(({ kind }) => kind !== "subagent").map((one) => ({ ...one, session }));
    });
    found.push(...(await Promise.all(some)).flat());
  }
  return found.sort((one, other) => one.opened_at.localeCompare(other.opened_at));
}
