import { Link } from "wouter";
import type { Sent } from "../api/api.ts";
import type { Step } from "../session/view.ts";
import { duration, grouped, percent, smallMoney } from "../ui/amounts.ts";
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

interface ContextSideProps {
  readonly blocks: readonly SentBlock[];
  readonly step: Step;
  readonly sent: Sent | undefined;
  readonly sessionId: string;
}

/** What the request cost, where its parts came from, and how it was made. */
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
        <div className="fig">{cost ? smallMoney(cost.total_micros) : "–"}</div>
        {cost && (
          <ul className="rows">
            <PriceRow className="bg-o-model" name="Read from the cache" micros={cost.cache_read_micros} />
            <PriceRow className="bg-c-2" name="Written to the cache" micros={cost.cache_write_micros} />
            <PriceRow className="bg-c-1" name="New input" micros={cost.input_micros} />
            <PriceRow className="bg-c-3" name="Output" micros={cost.output_micros} />
          </ul>
        )}
        {withoutCache !== null && cost && withoutCache > cost.total_micros && (
          <p className="lbl">Without the cache it would have been {smallMoney(withoutCache)}.</p>
        )}
      </section>
      <section className="sec">
        <h3>Where it came from</h3>
        <ul className="rows">
          {rows
            .sort((one, other) => other.tokens - one.tokens)
            .map(({ origin, word, tokens }) => (
              <li key={origin}>
                <span className={`dot bg-o-${origin}`} />
                {word}
                <span className="end">
                  {grouped(tokens)} <span className="share">{percent(tokens, all)}</span>
                </span>
              </li>
            ))}
        </ul>
      </section>
      <section className="sec">
        <h3>Request</h3>
        <dl className="kv">
          <Row name="Attempt" value={String(step.attempt)} />
          {sent && <Row name="Most output" value={grouped(Number(sent.body["max_tokens"] ?? 0))} />}
          {usage && <Row name="Output" value={grouped(usage.output_tokens)} />}
          {step.stopReason !== null && (
            <Row
              name="Stopped"
              value={step.stopReason === "tool_use" ? "to use a tool" : step.stopReason.replaceAll("_", " ")}
            />
          )}
          {step.durationMs !== null && <Row name="Took" value={duration(step.durationMs)} />}
        </dl>
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

function PriceRow({ className, name, micros }: { className: string; name: string; micros: number }) {
  return (
    <li>
      <span className={`dot ${className}`} />
      {name}
      <span className="end">{smallMoney(micros)}</span>
    </li>
  );
}

function Row({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
