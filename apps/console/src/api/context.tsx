import { QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useCallback, useContext } from "react";
import { type Api, isMissing, isUnauthorized } from "./api.ts";

const ApiContext = createContext<Api | null>(null);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("useApi must be used below ApiProvider.");
  return api;
}

/** How often lists are asked for again while the page is visible, until there is one stream over all sessions (NEEDS.md). */
const LIST_MS = 4000;

export function createQueries(onUnauthorized: () => void): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2000,
        retry: (failures, error) => {
          if (isUnauthorized(error)) onUnauthorized();
          return !isUnauthorized(error) && !isMissing(error) && failures < 2;
        },
      },
    },
  });
}

/** What waits for a person, over all sessions. */
export function useAwaits() {
  const api = useApi();
  return useQuery({ queryKey: ["awaits"], queryFn: () => api.awaits(), refetchInterval: LIST_MS });
}

/** Sessions that run or wait. */
export function useActive() {
  const api = useApi();
  return useQuery({
    queryKey: ["sessions", "active"],
    queryFn: async () =>
      (await api.sessions({ status: "running" })).data.filter((one) => one.subagent_of_session_id === null),
    refetchInterval: LIST_MS,
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

export function useHealth() {
  const api = useApi();
  return useQuery({ queryKey: ["health"], queryFn: () => api.health(), refetchInterval: 5000, retry: false });
}

/** Everything that lists sessions or awaits is out of date. */
export function useChanged(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    void queries.invalidateQueries({ queryKey: ["awaits"] });
    void queries.invalidateQueries({ queryKey: ["sessions"] });
  }, [queries]);
}
