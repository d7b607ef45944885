import { useAgents } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { money } from "../ui/amounts.ts";
import { CapList } from "./cap-list.tsx";
import { NumberHeads, TableSection } from "./table-section.tsx";
import { useCaps } from "./use-caps.ts";

/** The caps on runs and spending of keys, agents and tenants, their current use, and the budgets of agents. */
export function CapsSection() {
  const caps = useCaps();
  const agents = useAgents();
  const budgets = (agents.data ?? []).filter(({ config }) => config.max_cost_micros !== null);
  return (
    <>
      <section>
        <div className="h">
          <h2>Caps of the operator</h2>
        </div>
        {caps.length > 0 ? (
          <div className="card">
            <CapList caps={caps} />
          </div>
        ) : (
          <p className="card pad lbl">
            There are no caps: no key, agent or tenant has a limit of concurrent runs or of dollars per day. The
            server’s policy can set caps.
          </p>
        )}
      </section>
      {budgets.length > 0 && (
        <TableSection title="Budgets of agents" heads={<NumberHeads names={["Each session"]} />}>
          {budgets.map(({ id, name, config }) => (
            <tr key={id}>
              <td className="t cut">{visibleLine(name)}</td>
              <td className="r">{money(config.max_cost_micros ?? 0)}</td>
            </tr>
          ))}
        </TableSection>
      )}
    </>
  );
}
