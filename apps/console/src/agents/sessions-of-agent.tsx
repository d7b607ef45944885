import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Agent } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { LastSessions } from "../home/last-sessions.tsx";

/** The last sessions of one agent. */
export function SessionsOfAgent({ agent }: { readonly agent: Agent }) {
  const api = useApi();
  const sessions = useQuery({
    queryKey: ["sessions", "of", agent.id],
    queryFn: () => api.sessions({ agentId: agent.id }),
  });
  return (
    <section>
      <div className="h">
        <h2>Sessions</h2>
        <span className="end">
          <Link className="link" href={`/sessions?agent=${agent.id}`}>
            All
          </Link>
        </span>
      </div>
      {sessions.data?.data.length === 0 ? (
        <p className="lbl">None yet.</p>
      ) : (
        <LastSessions sessions={(sessions.data?.data ?? []).slice(0, 6)} agents={[]} />
      )}
    </section>
  );
}
