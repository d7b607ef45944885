import type { Client } from "@skein/client";
import type { RouteOutput } from "@skein/protocol";

type UsageRow = RouteOutput<"usage">["data"][number];

/** One day (UTC) and what each model used on it. */
export interface DayOfModels {
  readonly day: string;
  readonly models: readonly UsageRow[];
}

const DAY_MS = 86_400_000;
const AT_ONCE = 6;

/**
 * Usage by day and model. The server adds up by one of them (NEEDS.md): the days with any usage are asked for first, then
 * the models of each of them.
 */
export async function usageByDayAndModel(client: Client, from: Date, to: Date): Promise<DayOfModels[]> {
  const range = { from: from.toISOString(), to: to.toISOString() };
  const { data } = await client.usage({ query: { group_by: "day", ...range } });
  const days = data.map(({ key }) => key).sort();
  const found: DayOfModels[] = [];
  for (let at = 0; at < days.length; at += AT_ONCE) {
    const some = days.slice(at, at + AT_ONCE).map(async (day) => {
      const begin = Math.max(Date.parse(`${day}T00:00:00Z`), from.getTime());
      const end = Math.min(Date.parse(`${day}T00:00:00Z`) + DAY_MS, to.getTime());
      const query = {
        group_by: "model",
        from: new Date(begin).toISOString(),
        to: new Date(end).toISOString(),
      } as const;
      return { day, models: (await client.usage({ query })).data };
    });
    found.push(...(await Promise.all(some)));
  }
  return found;
}
