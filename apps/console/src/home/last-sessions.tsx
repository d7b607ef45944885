import { Link } from "wouter";
import type { Agent, Session } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { money } from "../ui/amounts.ts";
import { stateOf, titleOf } from "../ui/session-state.ts";
import { StateMark } from "../ui/status.tsx";
import { when } from "../ui/times.ts";

/** The sessions that were opened last, one line each. */
export function LastSessions({ sessions, agents }: { sessions: readonly Session[]; agents: readonly Agent[] }) {
  return (
    <ul className="card lastlist">
      {sessions.map((session) => (
        <li key={session.id}>
          <Link href={`/sessions/${session.id}`}>
            <StateMark state={stateOf(session)} />
            <span className="strong cut grow">{visibleLine(titleOf(session))}</span>
            <span className="faint cut desk-only">
              {visibleLine(agents.find(({ id }) => id === session.agent_id)?.name ?? "")}
            </span>
            <span className="num muted w-money">{money(session.cost_micros)}</span>
            <span className="num faint w-when">{when(session.updated_at)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
