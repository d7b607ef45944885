import { QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useCallback, useContext, useSyncExternalStore } from "react";
import { type Api, isFinal, isUnauthorized } from "./api.ts";
import { lostSince, onConnection } from "./connection.ts";

const ApiContext = createContext<Api | null>(null);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("useApi must be used below ApiProvider.");
  return api;
}

/** How often the health of the server is checked. An unreachable server is checked more often (`AWAY_MS`). */
const HEALTH_MS = 20_000;
const AWAY_MS = 3000;

export function createQueries(onUnauthorized: () => void): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2000,
        retry: (failures, error) => {
          if (isUnauthorized(error)) onUnauthorized();
          return !isFinal(error) && failures < 2;
        },
      },
    },
  });
}

/**
 * Requests the open awaits (questions, approvals and frontend tools) of all sessions. The stream of changes invalidates
 * the list.
 */
export function useAwaits() {
  const api = useApi();
  return useQuery({ queryKey: ["awaits"], queryFn: () => api.awaits() });
}

/** Requests the sessions with a run in progress (which may wait for a person), without the sessions of subagents. */
export function useActive() {
  const api = useApi();
  return useQuery({
    queryKey: ["sessions", "active"],
    queryFn: async () => (await api.sessions({ status: "running", isTopLevel: true })).data,
  });
}

export function useAgents() {
  const api = useApi();
  return useQuery({ queryKey: ["agents"], queryFn: () => api.agents(), staleTime: 30_000 });
}

export function useModels() {
  const api = useApi();
  return useQuery({ queryKey: ["models"], queryFn: () => api.models(), staleTime: 60_000 });
}

/** Requests the owner and the rights of the API key of this login, and the features of the server. */
export function useMe() {
  const api = useApi();
  return useQuery({ queryKey: ["me"], queryFn: () => api.me(), staleTime: 60_000 });
}

export function useHealth() {
  const api = useApi();
  return useQuery({
    queryKey: ["health"],
    queryFn: () => api.health(),
    refetchInterval: ({ state }) => (state.status === "error" ? AWAY_MS : HEALTH_MS),
    retry: false,
  });
}

/** Since when the server does not answer, as in `lostSince`. */
export function useLostSince(): number | undefined {
  return useSyncExternalStore(onConnection, lostSince);
}

/** Returns a function that marks all lists of sessions and awaits, and all single sessions, as out of date. */
export function useChanged(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    void queries.invalidateQueries({ queryKey: ["awaits"] });
    void queries.invalidateQueries({ queryKey: ["sessions"] });
    void queries.invalidateQueries({ queryKey: ["session"] });
  }, [queries]);
}
