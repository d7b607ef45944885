import { useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { AttemptSwitch } from "../context/attempt-switch.tsx";
import { ContextSide } from "../context/context-side.tsx";
import { SentBlocks } from "../context/sent-blocks.tsx";
import { StepList } from "../context/step-list.tsx";
import { useRequests } from "../context/use-requests.ts";
import { titleOfView } from "../session/title-of-view.ts";
import { useLiveSession } from "../session/live-session.ts";
import { UnreadableSession } from "../sessions/unreadable-session.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { BeforeAfter } from "../ui/before-after.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";
import { useKeys } from "../ui/use-keys.ts";

/** Shows the exact request of any step, part by part, and its changes since the previous step. */
export function ContextPage({ id }: { id: string }) {
  const { view, version, phase, error } = useLiveSession(id);
  const [params, setParams] = useSearchParams();
  usePageTitle(view.title === null ? "What the model saw" : `What the model saw · ${view.title}`);
  // oxlint-disable-next-line exhaustive-deps -- the view is changed in place, and its version says when.
  const steps = useMemo(() => view.steps.filter(({ purpose }) => purpose !== "copied"), [view, version]);
  const chosen = steps.findIndex(
    ({ runId, number }) => runId === params.get("run") && number === Number(params.get("step")),
  );
  // A step in progress has no token counts yet.
  const lastCounted = steps.findLastIndex(({ usage }) => usage !== null);
  const at = chosen !== -1 ? chosen : lastCounted !== -1 ? lastCounted : steps.length - 1;
  const step = steps[at];
  const before = at > 0 ? steps[at - 1] : undefined;
  const attempt = params.get("attempt");
  const requests = useRequests({ id, step, before, attempt: attempt === null ? null : Number(attempt) });
  const { sent } = requests;
  const go = (index: number): void => {
    const next = steps[Math.max(0, Math.min(steps.length - 1, index))];
    if (next) setParams({ run: next.runId, step: String(next.number) }, { replace: true });
  };
  const goAttempt = (number: number): void => {
    if (step) setParams({ run: step.runId, step: String(step.number), attempt: String(number) }, { replace: true });
  };
  useKeys({ "[": () => go(at - 1), "]": () => go(at + 1), j: () => go(at + 1), k: () => go(at - 1) });
  if (phase === "failed")
    return <UnreadableSession error={error} whyGone="It was deleted, or your key may not see it." />;

  return (
    <>
      <header className="top">
        <Link className="btn quiet icon phone-only" href={`/sessions/${id}`} aria-label="Back">
          <Icon name="back" />
        </Link>
        <div className="crumb desk-only">
          <Link href="/sessions">Sessions</Link>
          <span className="sep">/</span>
          <Link className="cut" href={`/sessions/${id}`}>
            {visibleLine(titleOfView(view))}
          </Link>
          <span className="sep">/</span>
        </div>
        <h1 className="cut">What the model saw</h1>
        <span className="grow" />
        <AttemptSwitch attempts={requests.attempts} shown={sent} onAttempt={goAttempt} />
        {step && (
          <BeforeAfter noun="step" at={at} first={0} last={steps.length - 1} onGo={go}>
            <span className="num">
              Step {at + 1} of {steps.length}
            </span>
          </BeforeAfter>
        )}
        {sent && <CopyButton text={JSON.stringify(sent.body, null, 2)} label="Copy the request as JSON" />}
      </header>
      {phase === "loading" || (step && requests.isLoading) ? (
        <LoadingRows rows={10} />
      ) : !step ? (
        <Nothing title="The model was not asked yet" state="idle">
          Each step of the session will appear here with its request.
        </Nothing>
      ) : requests.error !== null ? (
        <Nothing title="The request of this step cannot be shown" state="failed">
          {sentenceOf(requests.error)}
        </Nothing>
      ) : (
        <div className="ctx">
          <StepList steps={steps} at={at} onStep={go} />
          <SentBlocks blocks={requests.blocks} step={step} sessionId={id} hasBefore={before !== undefined} />
          <ContextSide blocks={requests.blocks} step={step} sent={sent} sessionId={id} />
        </div>
      )}
    </>
  );
}
