import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money, percent, plural } from "../ui/amounts.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { shortId, titleOf } from "../ui/session-state.ts";
import { fullTime } from "../ui/times.ts";
import { CostPerStep } from "./cost-per-step.tsx";
import type { PanelProps } from "./panel-props.ts";

/** What the session cost, what it used, and where it comes from. */
export function SessionPanel({ view, session, sessionId }: PanelProps) {
  const { totals, head } = view;
  const read = totals.cache_read_input_tokens;
  const sent = totals.input_tokens + read + totals.cache_creation_input_tokens;
  const budget = head?.maxCostMicros ?? null;
  const runs = view.runs.length;
  return (
    <>
      <section className="sec">
        <div className="budget">
          <span className="fig">{money(view.costMicros)}</span>
          {budget !== null && <span className="lbl">of {money(budget)}</span>}
          <span className="lbl end">{plural(runs, "run")}</span>
        </div>
        {budget !== null && (
          <div
            className="meter"
            role="img"
            aria-label={`${percent(view.costMicros, budget)} of the budget of the session used`}
          >
            <i style={{ width: `${Math.min(100, (view.costMicros / Math.max(1, budget)) * 100)}%` }} />
          </div>
        )}
        {view.unpricedCalls > 0 && <p className="lbl">{plural(view.unpricedCalls, "model call")} without a price</p>}
      </section>
      <section className="sec">
        <h3>Cost per step</h3>
        <CostPerStep view={view} />
      </section>
      <section className="sec">
        <h3>
          Tokens
          <span>{percent(read, sent)} from the cache</span>
        </h3>
        <ul className="rows">
          <TokenRow className="bg-o-model" name="Read from the cache" value={read} />
          <TokenRow className="bg-c-2" name="Written to the cache" value={totals.cache_creation_input_tokens} />
          <TokenRow className="bg-c-1" name="New input" value={totals.input_tokens} />
          <TokenRow className="bg-c-3" name="Output" value={totals.output_tokens} />
        </ul>
      </section>
      <section className="sec">
        <h3>Details</h3>
        <dl className="kv">
          {head && (
            <Detail name="Agent">
              <Link className="link" href={`/agents/${head.agentId}`}>
                {visibleLine(head.agentName)}
              </Link>{" "}
              <span className="faint">version {head.agentVersion}</span>
            </Detail>
          )}
          <Detail name="Model">{visibleLine(session?.model ?? head?.model ?? "")}</Detail>
          {head?.runtime === "claude-code" && <Detail name="Runtime">Claude Code</Detail>}
          {head?.workingDirectory != null && <Detail name="Folder">{visibleLine(head.workingDirectory)}</Detail>}
          {head?.parent && (
            <Detail name="Forked from">
              <SessionLink id={head.parent.session_id} />
            </Detail>
          )}
          {head?.subagentOf && (
            <Detail name="Works for">
              <SessionLink id={head.subagentOf.session_id} />
            </Detail>
          )}
          {view.tags.length > 0 && <Detail name="Tags">{view.tags.map(visibleLine).join(", ")}</Detail>}
          {head && <Detail name="Begun">{fullTime(head.createdAt)}</Detail>}
          <Detail name="Session">
            <code>{shortId(sessionId)}</code>
            <CopyButton text={sessionId} label="Copy the id" />
          </Detail>
        </dl>
      </section>
    </>
  );
}

function TokenRow({ className, name, value }: { className: string; name: string; value: number }) {
  return (
    <li>
      <span className={`dot ${className}`} />
      {name}
      <span className="end">{grouped(value)}</span>
    </li>
  );
}

function Detail({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="cut">{children}</dd>
    </div>
  );
}

function SessionLink({ id }: { id: string }) {
  const api = useApi();
  const { data } = useQuery({ queryKey: ["session", id], queryFn: () => api.session(id) });
  return (
    <Link className="link" href={`/sessions/${id}`}>
      {data ? visibleLine(titleOf(data)) : shortId(id)}
    </Link>
  );
}
