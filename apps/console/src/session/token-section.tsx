import type { UsageTotals } from "@skein/protocol";
import { grouped, percent, plural } from "../ui/amounts.ts";
import { DotRow } from "../ui/fact-list.tsx";
import type { Aside } from "./view.ts";

/** The four kinds of tokens. Each kind has the same colour on all pages. */
export const TOKEN_KINDS = [
  ["bg-o-model", "Read from the cache", "cache_read_input_tokens"],
  ["bg-c-2", "Written to the cache", "cache_creation_input_tokens"],
  ["bg-c-1", "New input", "input_tokens"],
  ["bg-c-3", "Output", "output_tokens"],
] as const;

interface TokenSectionProps {
  readonly totals: UsageTotals;
  /** Says which calls are counted. Undefined if all calls of the session are counted. */
  readonly scope?: string | undefined;
  /** Model calls that are counted here but are not steps: titles and compactions. */
  readonly asides?: ReadonlyMap<"title" | "compaction", Aside>;
}

const ASIDES = { title: ["the title", "titles"], compaction: ["a compaction", "compactions"] } as const;

/** Shows the number of tokens of each kind, and the share of the input that came from the cache. */
export function TokenSection({ totals, scope, asides = new Map() }: TokenSectionProps) {
  const read = totals.cache_read_input_tokens;
  const sent = totals.input_tokens + read + totals.cache_creation_input_tokens;
  return (
    <section className="sec">
      <h3>
        Tokens
        <span>{scope ?? `${percent(read, sent)} from the cache`}</span>
      </h3>
      <ul className="rows">
        {TOKEN_KINDS.map(([dot, name, kind]) => (
          <DotRow key={kind} dot={dot} name={name}>
            {grouped(totals[kind])}
          </DotRow>
        ))}
      </ul>
      {[...asides].map(([purpose, { calls, totals: used }]) => (
        <p key={purpose} className="lbl">
          Of these, {calls === 1 ? ASIDES[purpose][0] : plural(calls, "", ASIDES[purpose][1])} used{" "}
          {grouped(used.input_tokens + used.cache_read_input_tokens + used.cache_creation_input_tokens)} in,{" "}
          {grouped(used.output_tokens)} out. The steps do not show {calls === 1 ? "this call" : "these calls"}.
        </p>
      ))}
    </section>
  );
}
