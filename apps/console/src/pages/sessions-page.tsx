import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useAgents, useModels } from "../api/context.tsx";
import { distinctNames } from "../api/distinct-names.ts";
import { NewSessionButton } from "../home/new-session-button.tsx";
import { Filters } from "../sessions/filters.tsx";
import { ImportFileButton } from "../sessions/import-file-button.tsx";
import { SearchField } from "../sessions/search-field.tsx";
import type { Asked } from "../sessions/session-filter.ts";
import { SessionList, type SessionListHandle } from "../sessions/session-list.tsx";
import { SessionsFooter } from "../sessions/sessions-footer.tsx";
import { useSessionRows } from "../sessions/use-session-rows.ts";
import { grouped } from "../ui/amounts.ts";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { ProblemBar } from "../ui/problem-bar.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useQueryValue } from "../ui/use-query-value.ts";
import { usePageTitle } from "../ui/use-page-title.ts";

/** All sessions, searched and filtered while typing. The filters are in the URL. */
export function SessionsPage() {
  usePageTitle("Sessions");
  const [, go] = useLocation();
  const agents = useAgents();
  const known = useModels();
  const [search, setSearch] = useQueryValue("q");
  const asked = useAsked();
  const [typed, setTyped] = useState(search ?? "");
  const wanted = useDeferredValue(typed);
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<SessionListHandle>(null);
  useEffect(() => {
    // This page stays mounted until the next page is loaded. A late search must not bring the user back to this page.
    const timer = setTimeout(() => window.location.pathname === "/sessions" && setSearch(typed), 250);
    return () => clearTimeout(timer);
  }, [typed, setSearch]);

  const names = useMemo(() => distinctNames(agents.data ?? []), [agents.data]);
  const rows = useSessionRows({ asked, search: wanted, names });
  const models = useMemo(
    () =>
      [
        ...new Set([
          ...(known.data ?? []).map(({ name }) => name),
          ...(agents.data ?? []).map(({ config }) => config.model),
        ]),
      ].sort(),
    [known.data, agents.data],
  );
  useKeys({
    "/": () => field.current?.focus(),
    j: () => list.current?.move(1),
    k: () => list.current?.move(-1),
    ArrowDown: () => list.current?.move(1),
    ArrowUp: () => list.current?.move(-1),
    Enter: () => list.current?.open(),
    f: () => document.querySelector<HTMLElement>(".filters button")?.focus(),
  });
  const isFiltered = wanted !== "" || Object.values(asked).some((value) => value !== null);

  return (
    <>
      <header className="top">
        <h1>Sessions</h1>
        <span className="faint num">{rows.total === undefined ? "" : grouped(rows.total)}</span>
        <span className="grow" />
        <ImportFileButton onProblem={setProblem} />
        <NewSessionButton />
      </header>
      <ProblemBar problem={problem} onClose={() => setProblem(undefined)} />
      <div className="bar">
        <SearchField ref={field} value={typed} onValue={setTyped} onEnter={() => list.current?.open()} />
        <Filters agents={agents.data ?? []} models={models} hasHistory={rows.hasHistory} />
      </div>
      {rows.total === undefined && rows.error !== null ? (
        <Nothing title="The sessions cannot be listed" state="failed">
          {sentenceOf(rows.error)}
        </Nothing>
      ) : rows.total === undefined ? (
        <LoadingRows rows={12} />
      ) : rows.total === 0 ? (
        <Nothing title={nothingTitle(wanted, isFiltered)} state="idle">
          {isFiltered ? (
            <button type="button" className="btn" onClick={() => (setTyped(""), go("/sessions"))}>
              Show all
            </button>
          ) : (
            <p>Sessions appear here after the first prompt to an agent.</p>
          )}
        </Nothing>
      ) : (
        <SessionList
          rows={rows}
          search={wanted}
          handle={list}
          isGrouped={asked.sort === null || asked.sort === "changed"}
          hasSources={rows.hasSources}
        />
      )}
      <SessionsFooter rows={rows} />
    </>
  );
}

/** Returns the filters in the URL. */
function useAsked(): Asked {
  const [status] = useQueryValue("status");
  const [agent] = useQueryValue("agent");
  const [tag] = useQueryValue("tag");
  const [model] = useQueryValue("model");
  const [sort] = useQueryValue("sort");
  const [subagents] = useQueryValue("subagents");
  const [source] = useQueryValue("source");
  return { status, agent, tag, model, sort, subagents, source };
}

function nothingTitle(wanted: string, isFiltered: boolean): string {
  if (wanted !== "") return `No session has “${wanted}”`;
  return isFiltered ? "No session fits these filters" : "There is no session yet";
}
