import { Link } from "wouter";
import type { Sent } from "../api/api.ts";
import { TOKEN_KINDS } from "../session/token-section.tsx";
import type { Step } from "../session/view.ts";
import { duration, grouped, percent, smallMoney } from "../ui/amounts.ts";
import { DotRow, Fact, FactList } from "../ui/fact-list.tsx";
import type { Origin, SentBlock } from "./blocks.ts";

const ORIGINS: readonly (readonly [origin: Origin, word: string])[] = [
  ["result", "Results of tools"],
  ["tools", "Tools"],
  ["model", "Its own answers"],
  ["system", "System prompt"],
  ["compaction", "Summary"],
  ["memory", "Memory"],
  ["message", "You"],
];

const MICROS = {
  cache_read_input_tokens: "cache_read_micros",
  cache_creation_input_tokens: "cache_write_micros",
  input_tokens: "input_micros",
  output_tokens: "output_micros",
} as const;

interface ContextSideProps {
  readonly blocks: readonly SentBlock[];
  readonly step: Step;
  readonly sent: Sent | undefined;
  readonly sessionId: string;
}

/** The cost of the request, the origin of its parts, and its parameters. */
export function ContextSide({ blocks, step, sent, sessionId }: ContextSideProps) {
  const { cost, usage } = step;
  const present = blocks.filter(({ change }) => change !== "gone");
  const all = present.reduce((sum, { tokens }) => sum + tokens, 0);
  const tokensOf = (origin: Origin): number =>
    present.filter((block) => block.origin === origin).reduce((sum, { tokens }) => sum + tokens, 0);
  const rows = ORIGINS.map(([origin, word]) => ({ origin, word, tokens: tokensOf(origin) })).filter(
    ({ tokens }) => tokens > 0,
  );
  const withoutCache =
    cost && usage && usage.input_tokens > 0
      ? cost.total_micros -
        cost.cache_read_micros -
        cost.cache_write_micros +
        ((usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)) *
          (cost.input_micros / usage.input_tokens)
      : null;
  return (
    <aside className="ctx-side scroll" aria-label="About this request">
      <section className="sec">
        <h3>Price of this request</h3>
        <div className="fig">{step.isSimulated ? "simulated" : cost ? smallMoney(cost.total_micros) : "–"}</div>
        {step.isSimulated && (
          <p className="lbl">The built-in simulation answered. No model was asked, and nothing was billed.</p>
        )}
        {cost && !step.isSimulated && (
          <ul className="rows">
            {TOKEN_KINDS.map(([dot, name, kind]) => (
              <DotRow key={kind} dot={dot} name={name}>
                {smallMoney(cost[MICROS[kind]])}
              </DotRow>
            ))}
          </ul>
        )}
        {withoutCache !== null && cost && withoutCache > cost.total_micros && (
          <p className="lbl">Without the cache it would have been {smallMoney(withoutCache)}.</p>
        )}
      </section>
      <section className="sec">
        <h3>Origin of its parts</h3>
        <ul className="rows">
          {rows
            .sort((one, other) => other.tokens - one.tokens)
            .map(({ origin, word, tokens }) => (
              <DotRow key={origin} dot={`bg-o-${origin}`} name={word}>
                {grouped(tokens)} <span className="share">{percent(tokens, all)}</span>
              </DotRow>
            ))}
        </ul>
      </section>
      <section className="sec">
        <h3>Request</h3>
        <FactList>
          <Fact name="Attempt">
            {sent?.attempt ?? step.attempt} of {step.attempt}
          </Fact>
          {sent && <Fact name="Max. output">{grouped(Number(sent.body["max_tokens"] ?? 0))}</Fact>}
          {usage && <Fact name="Output">{grouped(usage.output_tokens)}</Fact>}
          {step.stopReason !== null && (
            <Fact name="Stopped">
              {step.stopReason === "tool_use" ? "to use a tool" : step.stopReason.replaceAll("_", " ")}
            </Fact>
          )}
          {step.durationMs !== null && <Fact name="Took">{duration(step.durationMs)}</Fact>}
        </FactList>
      </section>
      <section className="sec">
        <h3>Raw</h3>
        <Link className="link" href={`/sessions/${sessionId}?event=${sent?.sequence ?? step.sequence}`}>
          Event {sent?.sequence ?? step.sequence}
        </Link>
      </section>
    </aside>
  );
}
