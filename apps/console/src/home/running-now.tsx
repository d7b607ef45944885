import { Link } from "wouter";
import type { Agent, Session } from "../api/api.ts";
import { distinctNames } from "../api/distinct-names.ts";
import { useTitles } from "../api/titles.ts";
import { visibleLine } from "../text/safe-text.ts";
import { briefDuration, money, shortModel } from "../ui/amounts.ts";
import { StateMark } from "../ui/status.tsx";
import { useNow } from "../ui/use-now.ts";

/** Sessions that are running. */
export function RunningNow({ running, agents }: { running: readonly Session[]; agents: readonly Agent[] }) {
  const titleOf = useTitles();
  const now = useNow(1000, running.length > 0);
  const names = distinctNames(agents);
  if (running.length === 0) return <p className="lbl">No session is running.</p>;
  return (
    <ul>
      {running.slice(0, 8).map((session) => (
        <li className="runrow" key={session.id}>
          <StateMark state="running" />
          <div className="cut">
            <Link className="strong cut block" href={`/sessions/${session.id}`}>
              {visibleLine(titleOf(session))}
            </Link>
            <span className="now">
              {visibleLine(names.get(session.agent_id) ?? "")} · {shortModel(session.model)}
              {session.simulated && " · simulated"}
            </span>
          </div>
          <div className="amt">
            <div>{session.started_at === null ? "" : briefDuration(now - Date.parse(session.started_at))}</div>
            <div>{money(session.cost_micros)}</div>
          </div>
        </li>
      ))}
    </ul>
  );
}
