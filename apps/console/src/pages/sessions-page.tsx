import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useAgents, useApi } from "../api/context.tsx";
import { SHORTEST_SEARCH } from "../api/search-text.ts";
import { NewSessionButton } from "../home/new-session-button.tsx";
import { Filters } from "../sessions/filters.tsx";
import { OpenFileButton } from "../sessions/open-file-button.tsx";
import { SessionList, type SessionListHandle } from "../sessions/session-list.tsx";
import { type Sort, fits, hasWords, sorted } from "../sessions/session-order.ts";
import { useAllSessions } from "../sessions/use-all-sessions.ts";
import { useStableOrder } from "../sessions/use-stable-order.ts";
import { grouped, money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useQueryValue } from "../ui/use-query-value.ts";

/** Every session, searched and filtered as it is typed. The filters stand in the address. */
export function SessionsPage() {
  const api = useApi();
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
  const said = useQuery({
    queryKey: ["search", (search ?? "").trim()],
    queryFn: ({ signal }) => api.searchText(search ?? "", signal),
    // The address follows what is typed after a pause, so not every key is a question.
    enabled: (search ?? "").trim().length >= SHORTEST_SEARCH,
    retry: false,
    staleTime: 30_000,
  });
  const excerpts = useMemo(
    () => new Map((said.data ?? []).map(({ sessionId, excerpt }) => [sessionId, excerpt])),
    [said.data],
  );
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
  const spent = useMemo(() => shown.reduce((sum, { cost_micros }) => sum + cost_micros, 0), [shown]);
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
      {problem !== undefined && (
        <div className="net failed-bar" role="alert">
          <span className="grow">{problem}</span>
          <button type="button" className="btn" onClick={() => setProblem(undefined)}>
            Close
          </button>
        </div>
      )}
      <div className="bar">
        <label className="field search">
          <Icon name="search" small />
          <span className="sr">Search</span>
          <input
            ref={field}
            type="search"
            placeholder="Search in everything said and done"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
              if (event.key === "Enter") list.current?.open();
            }}
          />
          <kbd className="desk-only">/</kbd>
        </label>
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
      <footer className="statusbar desk-only">
        <span className="num">
          {grouped(shown.length)} of {grouped(all.length)} sessions
        </span>
        <span className="num">{money(spent)} together</span>
        <span className="grow" />
        <span>
          <kbd>J</kbd> <kbd>K</kbd> move
        </span>
        <span>
          <kbd>↵</kbd> open
        </span>
        <span>
          <kbd>F</kbd> filter
        </span>
      </footer>
    </>
  );
}
