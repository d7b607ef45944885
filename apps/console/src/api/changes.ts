import type { FollowedChange } from "@skein/client";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { type Api, type Session, type Waiting, isUnauthorized } from "./api.ts";
import { onConnection } from "./connection.ts";
import { useApi } from "./context.tsx";
import { streamInTurns } from "./stream-turns.ts";

/** The largest number of sessions whose last change is kept in memory. */
const MOST = 5000;
/** Many changes may come within a moment. One request after this pause gets all of them. */
const PAUSE_MS = 150;
/** The server needs long to add up usage, so usage is requested less often. */
const USAGE_PAUSE_MS = 5000;

/** The rows of sessions from the stream of changes. They are newer than the rows of a list. */
export interface ChangedRows {
  readonly get: (id: string) => Session | undefined;
  readonly subscribe: (changed: () => void) => () => void;
  readonly version: () => number;
}

interface Rows extends ChangedRows {
  readonly put: (session: Session) => void;
}

function createRows(): Rows {
  const rows = new Map<string, Session>();
  const listeners = new Set<() => void>();
  let version = 0;
  return {
    get: (id) => rows.get(id),
    version: () => version,
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    put(session) {
      rows.delete(session.id);
      rows.set(session.id, session);
      const [oldest] = rows.keys();
      if (rows.size > MOST && oldest !== undefined) rows.delete(oldest);
      version += 1;
      listeners.forEach((listener) => listener());
    },
  };
}

/** Each query client has separate rows, because another login may see other sessions. */
const rowsOf = new WeakMap<QueryClient, Rows>();

function rowsIn(queries: QueryClient): Rows {
  const known = rowsOf.get(queries) ?? createRows();
  rowsOf.set(queries, known);
  return known;
}

/** Makes the component render again whenever a session has changed. */
export function useChangedRows(): { readonly rows: ChangedRows; readonly version: number } {
  const rows = rowsIn(useQueryClient());
  return { rows, version: useSyncExternalStore(rows.subscribe, rows.version) };
}

interface FollowOptions {
  readonly onUnauthorized: () => void;
  /** Whether to keep the connection of the stream while nobody looks at the page. */
  readonly isKept: () => boolean;
}

/**
 * Keeps all lists of sessions and of awaits (waiting questions and approvals) up to date, from one stream over all
 * sessions of the tenant.
 */
export function useFollowChanges({ onUnauthorized, isKept }: FollowOptions): void {
  const api = useApi();
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const news = createNews(queries);
    const stopListening = onConnection(() => void queries.invalidateQueries({ queryKey: ["health"] }));
    void follow({ api, queries, signal: stop.signal, isKept, news }).catch((error: unknown) => {
      if (isUnauthorized(error)) onUnauthorized();
    });
    return () => {
      stop.abort();
      news.stop();
      stopListening();
    };
    // oxlint-disable-next-line exhaustive-deps -- the same functions in new objects change nothing.
  }, [api, queries]);
}

interface FollowWork {
  readonly api: Api;
  readonly queries: QueryClient;
  readonly signal: AbortSignal;
  readonly isKept: () => boolean;
  readonly news: News;
}

async function follow({ api, queries, signal: outer, isKept, news }: FollowWork): Promise<void> {
  let cursor: string | undefined;
  await streamInTurns(outer, {
    isKept,
    async stream(signal) {
      const options = {
        signal,
        // A lost stream may mean that the server is gone, so the health of the server is checked at once.
        onReconnect: () => void queries.invalidateQueries({ queryKey: ["health"] }),
        ...(cursor !== undefined && { after: cursor }),
      };
      for await (const change of api.changes(options)) {
        if (change.type !== "reset") ({ cursor } = change);
        news.take(change);
      }
    },
    poll: async () => news.askAll(),
  });
}

interface News {
  readonly take: (change: FollowedChange) => void;
  /** Requests again all data that may be out of date. */
  readonly askAll: () => void;
  readonly stop: () => void;
}

/** Updates the rows on the page after each change, and requests again the data that only the server knows. */
function createNews(queries: QueryClient): News {
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const rows = rowsIn(queries);

  const ask = (...names: readonly string[]): void => {
    for (const name of names) {
      if (timers.has(name)) continue;
      const again = (): void => {
        timers.delete(name);
        void queries.invalidateQueries({ queryKey: [name] });
      };
      timers.set(name, setTimeout(again, name === "usage" ? USAGE_PAUSE_MS : PAUSE_MS));
    }
  };

  function changed(session: Session): void {
    const before = rows.get(session.id);
    rows.put(session);
    queries.setQueryData(["session", session.id], session);
    queries.setQueryData<readonly Session[]>(["sessions", "active"], (active) => active && withRow(active, session));
    // Only the server knows the order of a list, and whether a prompt waits in an idle session. So lists are
    // requested again when a run begins or ends, and when a session changes between runs.
    if (before?.run_id !== session.run_id || before.activity !== session.activity || session.activity === "idle")
      ask("sessions");
    const waits = queries.getQueryData<readonly Waiting[]>(["awaits"]) ?? [];
    const isWaited = waits.some(({ session_id }) => session_id === session.id);
    if (session.activity === "awaiting" || before?.activity === "awaiting" || isWaited) ask("awaits");
    if (before && before.cost_micros !== session.cost_micros) ask("usage");
  }

  const askAll = (): void => ask("sessions", "session", "awaits", "health");
  let hasOpened = false;
  return {
    take(change) {
      if (change.type === "change") changed(change.session);
      else if (change.type === "reset" || hasOpened) askAll();
      if (change.type === "opened") hasOpened = true;
    },
    askAll,
    stop: () => timers.forEach((timer) => clearTimeout(timer)),
  };
}

/**
 * Returns the list of active sessions after a change of a session. Adds or replaces its row, or removes the row if the
 * session is no longer active.
 */
function withRow(active: readonly Session[], session: Session): readonly Session[] {
  const others = active.filter(({ id }) => id !== session.id);
  const isShown = session.activity !== "idle" && session.subagent_of_session_id === null;
  if (!isShown) return others;
  return others.length === active.length
    ? [session, ...others]
    : active.map((one) => (one.id === session.id ? session : one));
}
