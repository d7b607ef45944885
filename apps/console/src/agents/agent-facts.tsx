import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money } from "../ui/amounts.ts";
import { Fact, FactList } from "../ui/fact-list.tsx";
import { fullTime } from "../ui/times.ts";

const CACHE = { off: "off", short: "minutes", long: "hours" } as const;

/** The model, the limits and the dates of an agent. */
export function AgentFacts({ agent }: { readonly agent: Agent }) {
  const { config } = agent;
  return (
    <section className="card pad">
      <FactList>
        <Fact name="Model">{visibleLine(config.model)}</Fact>
        <Fact name="Runtime">{config.runtime === "loop" ? "Skein's loop" : "Claude Code"}</Fact>
        <Fact name="Max. steps">{grouped(config.max_steps)}</Fact>
        <Fact name="Max. output">{`${grouped(config.max_tokens)} tokens`}</Fact>
        <Fact name="Thinking">
          {config.thinking_tokens === 0 ? "off" : `up to ${grouped(config.thinking_tokens)} tokens`}
        </Fact>
        <Fact name="Prompt cache">{CACHE[config.cache ?? "short"]}</Fact>
        <Fact name="Budget">
          {config.max_cost_micros === null ? "none" : `${money(config.max_cost_micros)} a session`}
        </Fact>
        <Fact name="Compaction">
          {config.compactor_type === "none"
            ? "off"
            : `${config.compactor_type.replaceAll("_", " ")} above ${grouped(config.compaction_threshold)} tokens`}
        </Fact>
        <Fact name="Memory">{config.memory_store_type.replaceAll("_", " ")}</Fact>
        <Fact name="Made">{fullTime(agent.created_at)}</Fact>
        <Fact name="Changed">{fullTime(agent.updated_at)}</Fact>
      </FactList>
    </section>
  );
}
