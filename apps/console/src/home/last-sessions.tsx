import { Link } from "wouter";
import { serverNow } from "../api/server-clock.ts";
import type { Agent, HistorySession, Session } from "../api/api.ts";
import { distinctNames } from "../api/distinct-names.ts";
import { useTitles } from "../api/titles.ts";
import { type ListedRow, rowOfHistory, rowOfSession } from "../sessions/listed-row.ts";
import { visibleLine } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import { fullTime, when } from "../ui/times.ts";

interface LastSessionsProps {
  readonly sessions: readonly Session[];
  readonly agents: readonly Agent[];
  /** Sessions of coding agents to include. */
  readonly history?: readonly HistorySession[];
  readonly most?: number;
}

/** The last used sessions of Skein and of coding agents, one line each. */
export function LastSessions({ sessions, agents, history = [], most = 50 }: LastSessionsProps) {
  const now = serverNow();
  const titleOf = useTitles();
  const names = distinctNames(agents);
  const rows: readonly ListedRow[] = [
    ...sessions.map((session) =>
      rowOfSession(session, { title: titleOf(session), agent: names.get(session.agent_id) ?? "" }, now),
    ),
    ...history.map(rowOfHistory),
  ]
    .toSorted((one, other) => other.at.localeCompare(one.at))
    .slice(0, most);
  return (
    <ul className="card lastlist">
      {rows.map((row) => (
        <li key={row.key}>
          <Link href={row.href}>
            {row.state === null ? (
              <span className="st idle" title={row.source}>
                <Icon name="cc" small />
                <span className="sr">{visibleLine(row.source)}</span>
              </span>
            ) : (
              <StateMark state={row.state} />
            )}
            <span className="strong cut grow">{visibleLine(row.title)}</span>
            <span className="faint cut w-place">
              {visibleLine(row.state === null ? `${row.source} · ${row.place}` : row.place)}
            </span>
            <span className="num muted w-money">{row.cost}</span>
            <span className="num faint w-when" title={fullTime(row.at)}>
              {when(row.at)}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
