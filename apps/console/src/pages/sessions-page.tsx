import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type Session, sentenceOf } from "../api/api.ts";
import { useAgents, useApi } from "../api/context.tsx";
import { NewSessionButton } from "../home/new-session-button.tsx";
import { Filters } from "../sessions/filters.tsx";
import { SessionList, type SessionListHandle } from "../sessions/session-list.tsx";
import { type Sort, fits, sorted } from "../sessions/session-order.ts";
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
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<SessionListHandle>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSearch(typed), 250);
    return () => clearTimeout(timer);
  }, [typed, setSearch]);

  // Waiting, running and cancelled are finer than what the server filters by: the rest is done here.
  const server =
    status === "waiting" || status === "running"
      ? "running"
      : status === "done"
        ? "completed"
        : status === "failed" || status === "cancelled"
          ? "failed"
          : undefined;
  const query = useInfiniteQuery({
    queryKey: ["sessions", "list", { agent, tag, server }],
    queryFn: ({ pageParam }) =>
      api.sessions({ agentId: agent ?? undefined, status: server, tag: tag ?? undefined }, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 6000,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  // The server cannot search or sort yet: everything is read, page by page, while the first page is shown.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, query.data]);

  const names = useMemo(() => new Map((agents.data ?? []).map(({ id, name }) => [id, name])), [agents.data]);
  const all: readonly Session[] = useMemo(() => query.data?.pages.flatMap((page) => page.data) ?? [], [query.data]);
  const shown = useMemo(
    () =>
      sorted(
        all.filter((session) =>
          fits(session, {
            status,
            model,
            search: wanted,
            agentName: names.get(session.agent_id) ?? "",
            withSubagents: subagents === "1",
          }),
        ),
        (sort ?? "changed") as Sort,
      ),
    [all, status, model, wanted, names, subagents, sort],
  );
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
        <span className="faint num">{query.data ? `${grouped(all.length)}${hasNextPage ? "…" : ""}` : ""}</span>
        <span className="grow" />
        <NewSessionButton />
      </header>
      <div className="bar">
        <label className="field search">
          <Icon name="search" small />
          <span className="sr">Search</span>
          <input
            ref={field}
            type="search"
            placeholder="Search by title, agent, tag, model or id"
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
      {query.isLoading ? (
        <LoadingRows rows={12} />
      ) : query.isError ? (
        <Nothing title="The sessions cannot be listed" state="failed">
          {sentenceOf(query.error)}
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
