import type { ContentBlock } from "@skein/protocol";
import { memo } from "react";
import { Link } from "wouter";
import { Markdown } from "../text/markdown.tsx";
import { duration, money, percent, short } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import { fullTime } from "../ui/times.ts";
import { useNow } from "../ui/use-now.ts";
import { type CallsOpen, CallView } from "./call-view.tsx";
import { ContentView } from "./content-view.tsx";
import { useDrafts } from "./live-session.ts";
import { stateOfStep } from "./step-state.ts";
import { type Step, stepName } from "./view.ts";

interface StepViewProps {
  readonly step: Step;
  readonly version: number;
  readonly sessionId: string | null;
  readonly allOpen: CallsOpen;
  /** The call that the URL names. */
  readonly markedCall: string | null;
}

/** One model call: its text, its tool calls, and its cost. */
export const StepView = memo(function StepView({ step, sessionId, allOpen, markedCall }: StepViewProps) {
  const isCopied = step.purpose === "copied";
  return (
    <section className="step" aria-label={isCopied ? "Copied from the parent" : stepName(step)}>
      <span className="bead">
        <StateMark state={stateOfStep(step)} />
      </span>
      <div className="step-h" title={fullTime(step.at)}>
        <b>{isCopied ? "From the parent" : step.purpose === "summary" ? "Summary" : stepName(step)}</b>
        {step.attempt > 1 && step.state === "running" && <span className="chip">attempt {step.attempt}</span>}
        <StepMeta step={step} />
        {!isCopied && sessionId !== null && (
          <Link
            className="eyebtn"
            href={`/sessions/${sessionId}/context?run=${step.runId}&step=${step.number}`}
            aria-label={`What the model saw: ${stepName(step)}`}
            title="What the model saw"
          >
            <Icon name="eye" small />
          </Link>
        )}
      </div>
      <Retries step={step} />
      {step.state === "running" ? <LiveText step={step} /> : <Said step={step} />}
      {step.calls.length > 0 && (
        <div className="calls">
          {step.calls.map((call) => (
            <CallView
              key={call.id}
              call={call}
              version={step.version}
              allOpen={allOpen}
              isMarked={call.id === markedCall}
            />
          ))}
        </div>
      )}
      {step.error && <p className="note failed">{step.error.message}</p>}
      {step.state === "lost" && (
        <p className="note waiting">The worker died before the answer arrived.{reserved(step)}</p>
      )}
      {step.state === "interrupted" && <p className="note waiting">Interrupted here.{reserved(step)}</p>}
    </section>
  );
});

function reserved({ reservedMicros }: Step): string {
  return reservedMicros === 0 ? "" : ` Up to ${money(reservedMicros)} more may have been billed.`;
}

function Said({ step }: { step: Step }) {
  return (
    <div className="said">
      <ContentView content={step.content as ContentBlock[]} />
    </div>
  );
}

/** Shows the unfinished text of an answer. Only this component renders in each animation frame. */
function LiveText({ step }: { step: Step }) {
  useDrafts();
  return (
    <div className={step.draft === "" ? "said" : "said is-live"}>
      {step.draft === "" ? <span className="caret" aria-hidden="true" /> : <Markdown text={step.draft} />}
    </div>
  );
}

function StepMeta({ step }: { step: Step }) {
  const now = useNow(1000, step.state === "running");
  if (step.purpose === "copied") return null;
  const end = step.state === "running" ? now : step.brokenAt;
  const took = step.durationMs ?? (end === null ? null : end - step.at);
  const { usage, cost } = step;
  const read = usage?.cache_read_input_tokens ?? 0;
  const sent = usage ? usage.input_tokens + read + (usage.cache_creation_input_tokens ?? 0) : 0;
  // A model call that was cancelled before its answer began has no token counts.
  const isCounted = usage !== null && sent + usage.output_tokens > 0;
  return (
    <span className="meta num">
      {took !== null && <span>{duration(took)}</span>}
      {isCounted && (
        <span className="opt2">
          {short(sent)} in{read > 0 && `, ${percent(read, sent)} cached`}
        </span>
      )}
      {isCounted && <span>{short(usage.output_tokens)} out</span>}
      {step.isSimulated ? (
        <span title="The built-in simulation answered, not a model">simulated</span>
      ) : (
        isCounted && <span>{cost ? money(cost.total_micros) : "no price"}</span>
      )}
    </span>
  );
}

function Retries({ step }: { step: Step }) {
  if (step.retries.length === 0) return null;
  const last = step.retries.at(-1);
  return (
    <p className="note waiting">
      {step.retries.length === 1 ? "Tried again" : `Tried again ${step.retries.length} times`}: {last?.error.message}
    </p>
  );
}
