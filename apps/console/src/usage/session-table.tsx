import { useQuery } from "@tanstack/react-query";
import type { UsageRow } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { useTitles } from "../api/titles.ts";
import { UsageTable } from "./usage-table.tsx";

/** The most expensive sessions, with their current titles. */
export function SessionTable({ rows }: { readonly rows: readonly UsageRow[] }) {
  const api = useApi();
  const titleOf = useTitles();
  const top = rows.toSorted((one, other) => other.cost_micros - one.cost_micros).slice(0, 10);
  const ids = top.map(({ key }) => key);
  const sessions = useQuery({
    queryKey: ["titles", ...ids],
    queryFn: async () => new Map((await api.sessionsOf(ids)).map((session) => [session.id, session])),
    enabled: top.length > 0,
    staleTime: 60_000,
  });
  const nameOf = ({ key }: UsageRow): string => {
    const session = sessions.data?.get(key);
    if (session) return titleOf(session);
    return sessions.data ? "A deleted session" : "…";
  };
  return (
    <UsageTable
      title="Sessions that cost most"
      rows={top}
      nameOf={nameOf}
      hrefOf={({ key }) => (sessions.data?.has(key) === false ? undefined : `/sessions/${key}`)}
    />
  );
}
