import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { serverNow } from "../api/server-clock.ts";
import { useActive, useAgents, useApi, useAwaits, useMe } from "../api/context.tsx";
import { ActivityCalendar } from "../charts/activity-calendar.tsx";
import { CostCard } from "../charts/cost-card.tsx";
import { FirstSteps } from "../home/first-steps.tsx";
import { LastSessions } from "../home/last-sessions.tsx";
import { NewSessionButton } from "../home/new-session-button.tsx";
import { RunningNow } from "../home/running-now.tsx";
import { WaitsForYou } from "../home/waits-for-you.tsx";
import { longDay } from "../ui/times.ts";
import { usePageTitle } from "../ui/use-page-title.ts";

/** The home page: what waits for the user, running sessions, past sessions. */
export function HomePage() {
  usePageTitle("Home");
  const api = useApi();
  const awaits = useAwaits();
  const active = useActive();
  const agents = useAgents();
  const last = useQuery({
    queryKey: ["sessions", "last"],
    queryFn: () => api.sessions({ sort: "last_run", isTopLevel: true, limit: 20 }),
  });
  const me = useMe();
  const history = useQuery({
    queryKey: ["history", "last"],
    queryFn: () => api.historySessions({ offset: 0, limit: 8 }),
    enabled: me.data?.server.history.available === true,
  });
  const isFirst = agents.data?.length === 0 || last.data?.data.length === 0;
  const running = (active.data ?? []).filter(({ activity }) => activity === "running");
  return (
    <>
      <header className="top">
        <h1>Home</h1>
        <span className="faint desk-only">{longDay(serverNow())}</span>
        <span className="grow" />
        <NewSessionButton />
      </header>
      <div className="scroll">
        <div className="home">
          <div className="stack">
            <FirstSteps isFirst={isFirst} isIdle={active.data?.length === 0} />
            <WaitsForYou waiting={awaits.data ?? []} isLoading={awaits.isLoading} />
            {!isFirst && (
              <section className="o4">
                <div className="h">
                  <h2>Last sessions</h2>
                  <span className="end">
                    <Link className="link" href="/sessions">
                      All sessions
                    </Link>
                  </span>
                </div>
                <LastSessions
                  sessions={last.data?.data ?? []}
                  history={history.data?.data ?? []}
                  agents={agents.data ?? []}
                  most={8}
                />
              </section>
            )}
          </div>
          <div className="stack">
            <section className="o2">
              <div className="h">
                <h2>Running now</h2> <span className="n num">{running.length}</span>
              </div>
              <RunningNow running={running} agents={agents.data ?? []} />
            </section>
            <section className="o3">
              <div className="h">
                <h2>Cost</h2>
                <span className="end">
                  <Link className="link" href="/usage">
                    Usage
                  </Link>
                </span>
              </div>
              <CostCard />
            </section>
            <section className="o5">
              <ActivityCalendar />
            </section>
          </div>
        </div>
      </div>
    </>
  );
}
