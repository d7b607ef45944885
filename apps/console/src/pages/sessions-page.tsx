import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useAgents } from "../api/context.tsx";
import { NewSessionButton } from "../home/new-session-button.tsx";
import { Filters } from "../sessions/filters.tsx";
import { OpenFileButton } from "../sessions/open-file-button.tsx";
import { SearchField } from "../sessions/search-field.tsx";
import { SessionList, type SessionListHandle } from "../sessions/session-list.tsx";
import { type Sort, fits, hasWords, sorted } from "../sessions/session-order.ts";
import { SessionsFooter } from "../sessions/sessions-footer.tsx";
import { useAllSessions } from "../sessions/use-all-sessions.ts";
import { useExcerpts } from "../sessions/use-excerpts.ts";
import { useStableOrder } from "../sessions/use-stable-order.ts";
import { grouped } from "../ui/amounts.ts";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { ProblemBar } from "../ui/problem-bar.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useQueryValue } from "../ui/use-query-value.ts";

/** Every session, searched and filtered as it is typed. The filters stand in the address. */
export function SessionsPage() {
  const [, go] = useLocation();
  const agents = useAgents();
  const [search, setSearch] = useQueryValue("q");
  const [status] = useQueryValue("status");
  const [agent] = useQueryValue("agent");
  const [tag] = useQueryValue("tag");
  const [model] = useQueryValue("model");
  const [sort] = useQueryValue("sort");
  const [subagents] = useQueryValue("subagents");
  const [typed, setTyped] = useState(search ?? "");
  const wanted = useDeferredValue(typed);
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<SessionListHandle>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSearch(typed), 250);
    return () => clearTimeout(timer);
  }, [typed, setSearch]);

  const { sessions: all, isLoading, isReading, error } = useAllSessions();
  const excerpts = useExcerpts(search ?? "");
  const names = useMemo(() => new Map((agents.data ?? []).map(({ id, name }) => [id, name])), [agents.data]);
  const fitting = useMemo(() => {
    const asked = { status, model, tag, agent, withSubagents: subagents === "1" };
    const found = all.filter((session) => {
      const agentName = names.get(session.agent_id) ?? "";
      return fits(session, asked) && (hasWords(session, wanted, agentName) || excerpts.has(session.id));
    });
    return sorted(found, (sort ?? "changed") as Sort);
  }, [all, status, model, tag, agent, wanted, names, subagents, sort, excerpts]);
  const [isPointed, setPointed] = useState(false);
  const shown = useStableOrder(fitting, isPointed);
  const models = useMemo(() => [...new Set(all.map(({ model: name }) => name))].sort(), [all]);
  useKeys({
    "/": () => field.current?.focus(),
    j: () => list.current?.move(1),
    k: () => list.current?.move(-1),
    ArrowDown: () => list.current?.move(1),
    ArrowUp: () => list.current?.move(-1),
    Enter: () => list.current?.open(),
    f: () => document.querySelector<HTMLElement>(".filters button")?.focus(),
  });

  return (
    <>
      <header className="top">
        <h1>Sessions</h1>
        <span className="faint num">{isLoading ? "" : `${grouped(all.length)}${isReading ? "…" : ""}`}</span>
        <span className="grow" />
        <OpenFileButton onProblem={setProblem} />
        <NewSessionButton />
      </header>
      <ProblemBar problem={problem} onClose={() => setProblem(undefined)} />
      <div className="bar">
        <SearchField ref={field} value={typed} onValue={setTyped} onEnter={() => list.current?.open()} />
        <Filters agents={agents.data ?? []} models={models} />
      </div>
      {isLoading ? (
        <LoadingRows rows={12} />
      ) : error !== null && all.length === 0 ? (
        <Nothing title="The sessions cannot be listed" state="failed">
          {sentenceOf(error)}
        </Nothing>
      ) : shown.length === 0 ? (
        <Nothing title={typed === "" ? "No session fits these filters" : `No session has “${typed}”`} state="idle">
          <p>{all.length === 0 ? "There is no session yet." : `Looked at ${grouped(all.length)} sessions.`}</p>
          <button type="button" className="btn" onClick={() => (setTyped(""), go("/sessions"))}>
            Show all
          </button>
        </Nothing>
      ) : (
        <SessionList
          sessions={shown}
          excerpts={excerpts}
          onPointed={setPointed}
          names={names}
          search={wanted}
          handle={list}
          isGrouped={(sort ?? "changed") === "changed"}
        />
      )}
      <SessionsFooter shown={shown} count={all.length} />
    </>
  );
}
