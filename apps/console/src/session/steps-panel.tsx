import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { type ApiStep, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { duration, money, short, shortModel } from "../ui/amounts.ts";
import { Nothing } from "../ui/empty-state.tsx";
import type { State } from "../ui/state.ts";
import { StateMark } from "../ui/status.tsx";
import { visibleLine } from "../text/safe-text.ts";
import type { PanelProps } from "./panel-props.ts";
import { type SessionView, stepName } from "./view.ts";

const STATES: Readonly<Record<ApiStep["state"], State>> = {
  running: "running",
  generated: "done",
  failed: "failed",
  abandoned: "cancelled",
};
const PURPOSES: Readonly<Record<ApiStep["purpose"], string>> = {
  step: "Step",
  summary: "Summary",
  title: "Title",
  compaction: "Compaction",
};

/** Every model call with its attempts. This includes titles and compactions, which the transcript does not show. */
export function StepsPanel({ view, sessionId, onShow }: PanelProps) {
  const api = useApi();
  const calls = view.steps.reduce((sum, { attempt, state }) => sum + attempt + (state === "running" ? 0 : 1), 0);
  const steps = useQuery({
    queryKey: ["steps", sessionId, calls],
    queryFn: () => api.steps(sessionId),
    placeholderData: (before) => before,
  });
  if (steps.isError) return <p className="sec say-failed">{sentenceOf(steps.error)}</p>;
  if (steps.data?.length === 0)
    return (
      <Nothing title="The model was not asked yet" state="idle">
        Each model call is listed here with its attempts.
      </Nothing>
    );
  return (
    <ol>
      {(steps.data ?? []).toReversed().map((step) => (
        <StepRow key={step.sequence} step={step} run={runOf(view, step)} sessionId={sessionId} onShow={onShow} />
      ))}
    </ol>
  );
}

/** Returns the number of the run that the transcript shows for the step. */
function runOf(view: SessionView, { run_id, step }: ApiStep): number {
  return view.steps.find(({ runId, number }) => runId === run_id && number === step)?.run ?? 0;
}

interface StepRowProps {
  readonly step: ApiStep;
  readonly run: number;
  readonly sessionId: string;
  readonly onShow: (sequence: number) => void;
}

function StepRow({ step, run, sessionId, onShow }: StepRowProps) {
  const name = step.purpose === "step" ? stepName({ run, number: step.step }) : PURPOSES[step.purpose];
  const output = step.usage?.["output_tokens"];
  return (
    <li className="eff">
      <StateMark state={STATES[step.state]} />
      <button type="button" className="eff-b" onClick={() => onShow(step.sequence)}>
        <span className="block">
          {name}
          {(step.attempt > 1 || step.state === "failed") && <span className="chip">attempt {step.attempt}</span>}
        </span>
        <span className="w block">
          {shortModel(visibleLine(step.model))}
          {typeof output === "number" && `, ${short(output)} tokens out`}
          {step.estimated && ", estimated"}
          {step.simulated && ", simulated"}
        </span>
        {step.error !== null && <span className="w block say-failed">{visibleLine(step.error)}</span>}
      </button>
      <span className="end num">
        {step.duration_ms !== null && <span className="block">{duration(step.duration_ms)}</span>}
        {step.cost_micros !== null && <span className="block">{money(step.cost_micros)}</span>}
        {step.purpose === "step" && (
          <Link
            className="link block"
            href={`/sessions/${sessionId}/context?run=${step.run_id}&step=${step.step}&attempt=${step.attempt}`}
          >
            Request
          </Link>
        )}
      </span>
    </li>
  );
}
