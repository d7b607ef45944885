import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money } from "../ui/amounts.ts";
import { fullTime } from "../ui/times.ts";

/** The model, the limits and the dates of an agent. */
export function AgentFacts({ agent }: { readonly agent: Agent }) {
  const { config } = agent;
  return (
    <section className="card pad">
      <dl className="kv">
        <Row name="Model" value={visibleLine(config.model)} />
        <Row name="Runtime" value={config.runtime === "loop" ? "Skein's loop" : "Claude Code"} />
        <Row name="Most steps" value={grouped(config.max_steps)} />
        <Row name="Most output" value={`${grouped(config.max_tokens)} tokens`} />
        <Row
          name="Thinking"
          value={config.thinking_tokens === 0 ? "off" : `up to ${grouped(config.thinking_tokens)} tokens`}
        />
        <Row
          name="Budget"
          value={config.max_cost_micros === null ? "none" : `${money(config.max_cost_micros)} a session`}
        />
        <Row
          name="Compaction"
          value={
            config.compactor_type === "none"
              ? "off"
              : `${config.compactor_type.replaceAll("_", " ")} above ${grouped(config.compaction_threshold)} tokens`
          }
        />
        <Row name="Memory" value={config.memory_store_type.replaceAll("_", " ")} />
        <Row name="Made" value={fullTime(agent.created_at)} />
        <Row name="Changed" value={fullTime(agent.updated_at)} />
      </dl>
    </section>
  );
}

function Row({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
