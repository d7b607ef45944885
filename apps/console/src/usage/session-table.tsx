import { useQuery } from "@tanstack/react-query";
import type { UsageRow } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { UsageTable } from "./usage-table.tsx";

/** The dearest sessions, by the titles that they have now. */
export function SessionTable({ rows }: { readonly rows: readonly UsageRow[] }) {
  const api = useApi();
  const top = rows.toSorted((one, other) => other.cost_micros - one.cost_micros).slice(0, 10);
  const titles = useQuery({
    queryKey: ["titles", ...top.map(({ key }) => key)],
    queryFn: async () =>
      new Map(
        await Promise.all(
          top.map(async ({ key }) => [key, (await api.session(key).catch(() => undefined))?.title ?? null] as const),
        ),
      ),
    enabled: top.length > 0,
    staleTime: 60_000,
  });
  return (
    <UsageTable
      title="Sessions that cost most"
      rows={top}
      nameOf={({ key }) => titles.data?.get(key) ?? `Session ${key.slice(0, 8)}`}
      hrefOf={({ key }) => `/sessions/${key}`}
    />
  );
}
