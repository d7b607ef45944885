import { useQuery } from "@tanstack/react-query";
import { useAgents, useApi, useMe } from "../api/context.tsx";
import { serverNow } from "../api/server-clock.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money } from "../ui/amounts.ts";
import { NumberHeads, TableSection } from "./table-section.tsx";

/** More keys than this are not asked one by one. */
const MOST_KEYS = 30;

interface Cap {
  readonly name: string;
  /** What it spent today, if the cap is about days. */
  readonly spentMicros: number | null;
  readonly limitMicros: number | null;
  readonly per: "day" | "run";
  readonly runsAtOnce: number | null;
}

/** What keys and agents may spend, and how much of it is spent. Caps count days of UTC. */
export function CapsSection() {
  const keys = useKeyCaps();
  const agents = useAgents();
  const budgets = (agents.data ?? []).flatMap(({ name, config }): readonly Cap[] =>
    config.max_cost_micros === null
      ? []
      : [{ name, spentMicros: null, limitMicros: config.max_cost_micros, per: "run", runsAtOnce: null }],
  );
  const caps = [...keys, ...budgets];
  if (caps.length === 0)
    return (
      <section>
        <div className="h">
          <h2>Budgets and caps</h2>
        </div>
        <p className="card pad lbl">
          No key has a cap on what it spends, and no agent a budget for its runs. An agent gets its budget where it is
          changed, a key its cap in the server’s policy.
        </p>
      </section>
    );
  return (
    <TableSection title="Budgets and caps" heads={<NumberHeads names={["Today", "At most", "At once"]} />}>
      {caps.map((cap) => (
        <tr key={`${cap.per} ${cap.name}`}>
          <td className="t cut">
            {visibleLine(cap.name)} <span className="faint">{cap.per === "day" ? "key" : "agent"}</span>
          </td>
          <td className={`r ${isNearlySpent(cap) ? "say-failed" : ""}`}>
            {cap.spentMicros === null ? "" : money(cap.spentMicros)}
          </td>
          <td className="r">{cap.limitMicros === null ? "no cap" : `${money(cap.limitMicros)} a ${cap.per}`}</td>
          <td className="r">{cap.runsAtOnce === null ? "" : grouped(cap.runsAtOnce)}</td>
        </tr>
      ))}
    </TableSection>
  );
}

function isNearlySpent({ spentMicros, limitMicros }: Cap): boolean {
  return spentMicros !== null && limitMicros !== null && spentMicros >= limitMicros * 0.8;
}

/** The caps of this login's key, and of all keys for those who may see them. */
function useKeyCaps(): readonly Cap[] {
  const api = useApi();
  const { data: me } = useMe();
  const isAdmin = me?.key.scopes.includes("admin") === true;
  const today = new Date(serverNow()).toISOString().slice(0, 10);
  const spent = useQuery({
    queryKey: ["usage", "caps", today],
    queryFn: () => api.usage({ group_by: "key", from: `${today}T00:00:00.000Z` }),
  });
  const policies = useQuery({
    queryKey: ["policy", "caps", isAdmin],
    queryFn: async () => {
      if (!isAdmin) return [await api.policy()];
      const keys = (await api.keys()).filter(({ state }) => state === "valid").slice(0, MOST_KEYS);
      return await Promise.all([api.policy(), ...keys.map(({ id }) => api.policyOfKey(id))]);
    },
    enabled: me !== undefined,
    staleTime: 60_000,
    retry: false,
  });
  const byName = new Map((policies.data ?? []).map(({ key, rules }) => [key.name, rules]));
  return [...byName]
    .filter(([, rules]) => rules.spend_per_day_usd !== null || rules.concurrent_runs !== null)
    .map(([name, rules]) => ({
      name,
      spentMicros: spent.data?.find(({ key }) => key === name)?.cost_micros ?? 0,
      limitMicros: rules.spend_per_day_usd === null ? null : rules.spend_per_day_usd * 1e6,
      per: "day",
      runsAtOnce: rules.concurrent_runs,
    }));
}
