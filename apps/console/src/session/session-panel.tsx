import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useDistinctName } from "../api/agent-names.ts";
import { useApi } from "../api/context.tsx";
import { useTitles } from "../api/titles.ts";
import { visibleLine } from "../text/safe-text.ts";
import { money, percent, plural } from "../ui/amounts.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Fact, FactList } from "../ui/fact-list.tsx";
import { shortId } from "../ui/session-state.ts";
import { fullTime } from "../ui/times.ts";
import { CostPerStep } from "./cost-per-step.tsx";
import { TokenSection } from "./token-section.tsx";
import type { PanelProps } from "./panel-props.ts";

/** The cost and usage of the session, and its origin. */
export function SessionPanel({ view, session, sessionId }: PanelProps) {
  const { totals, head } = view;
  const nameOf = useDistinctName();
  const budget = head?.maxCostMicros ?? null;
  const runs = view.runs.length;
  const isRunning = view.runs.some(({ endedAt }) => endedAt === null);
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
      <TokenSection totals={totals} asides={view.asides} />
      <section className="sec">
        <h3>Details</h3>
        <FactList>
          {head && (
            <Fact name="Agent">
              <Link className="link cut" href={`/agents/${head.agentId}`}>
                {visibleLine(nameOf(head.agentId, head.agentName))}
              </Link>{" "}
              <span className="faint">version {head.agentVersion}</span>
            </Fact>
          )}
          <Fact name="Model">
            {visibleLine(session?.model ?? head?.model ?? "")}
            <SimulatedSteps view={view} />
          </Fact>
          {isRunning && <WorkerFact id={sessionId} />}
          {head?.runtime === "claude-code" && <Fact name="Runtime">Claude Code</Fact>}
          {head?.workingDirectory != null && <Fact name="Folder">{visibleLine(head.workingDirectory)}</Fact>}
          {head?.parent && (
            <Fact name="Forked from">
              <SessionLink id={head.parent.session_id} />
            </Fact>
          )}
          {head?.subagentOf && (
            <Fact name="Subagent of">
              <SessionLink id={head.subagentOf.session_id} />
            </Fact>
          )}
          {view.tags.length > 0 && <Fact name="Tags">{view.tags.map(visibleLine).join(", ")}</Fact>}
          {head && <Fact name="Begun">{fullTime(Math.min(head.createdAt, view.runs[0]?.startedAt ?? Infinity))}</Fact>}
          <Fact name="Session">
            <code>{shortId(sessionId)}</code>
            <CopyButton text={sessionId} label="Copy the id" />
          </Fact>
        </FactList>
      </section>
    </>
  );
}

/** Marks a session that the built-in simulation answered instead of the model. */
function SimulatedSteps({ view }: Pick<PanelProps, "view">) {
  const answered = view.steps.filter(({ purpose, generatedAt }) => purpose !== "copied" && generatedAt !== null);
  if (!answered.some(({ isSimulated }) => isSimulated)) return null;
  return (
    <>
      {" "}
      <span className="chip" title="The built-in simulation answered, not a model">
        {answered.every(({ isSimulated }) => isSimulated) ? "simulated" : "partly simulated"}
      </span>
    </>
  );
}

/** The process that runs the session. If it ends, another process takes over. */
function WorkerFact({ id }: { id: string }) {
  const api = useApi();
  const { data } = useQuery({ queryKey: ["worker", id], queryFn: () => api.workerOf(id), refetchInterval: 5000 });
  if (data == null) return null;
  return (
    <Fact name="Worker">
      <span title="Host, process id and start of the process that runs this session">{visibleLine(data)}</span>
    </Fact>
  );
}

function SessionLink({ id }: { id: string }) {
  const api = useApi();
  const titleOf = useTitles();
  const { data } = useQuery({ queryKey: ["session", id], queryFn: () => api.session(id) });
  return (
    <Link className="link" href={`/sessions/${id}`}>
      {data ? visibleLine(titleOf(data)) : shortId(id)}
    </Link>
  );
}
