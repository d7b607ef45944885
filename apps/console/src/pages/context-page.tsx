import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { ContextSide } from "../context/context-side.tsx";
import { SentBlocks } from "../context/sent-blocks.tsx";
import { StepButtons } from "../context/step-buttons.tsx";
import { StepList } from "../context/step-list.tsx";
import { blocksOfRequest, compared, knownTexts, pricedBlocks } from "../context/blocks.ts";
import { useLiveSession } from "../session/live-session.ts";
import type { Step } from "../session/view.ts";
import { visibleLine } from "../text/safe-text.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useSearchParams } from "wouter";

/** What the model saw: the exact request of any step, part by part, and what changed since the step before. */
export function ContextPage({ id }: { id: string }) {
  const api = useApi();
  const { view, version, phase } = useLiveSession(id);
  const [params, setParams] = useSearchParams();
  // oxlint-disable-next-line exhaustive-deps -- the view is changed in place, and its version says when.
  const steps = useMemo(() => view.steps.filter(({ purpose }) => purpose !== "copied"), [view, version]);
  const chosen = steps.findIndex(
    ({ runId, number }) => runId === params.get("run") && number === Number(params.get("step")),
  );
  // Of a step that is under way nothing was counted yet.
  const lastCounted = steps.findLastIndex(({ usage }) => usage !== null);
  const at = chosen !== -1 ? chosen : lastCounted !== -1 ? lastCounted : steps.length - 1;
  const step = steps[at];
  const before = at > 0 ? steps[at - 1] : undefined;
  const sent = useQuery({
    queryKey: ["sent", id, step?.key],
    queryFn: () => request(api, id, step),
    enabled: step !== undefined,
  });
  const sentBefore = useQuery({
    queryKey: ["sent", id, before?.key],
    queryFn: () => request(api, id, before),
    enabled: before !== undefined,
  });
  const go = (index: number): void => {
    const next = steps[Math.max(0, Math.min(steps.length - 1, index))];
    if (next) setParams({ run: next.runId, step: String(next.number) }, { replace: true });
  };
  useKeys({ "[": () => go(at - 1), "]": () => go(at + 1), j: () => go(at + 1), k: () => go(at - 1) });

  const blocks = useMemo(() => {
    if (!sent.data || !step) return [];
    const known = knownTexts(view.events);
    const rates = ratesOf(step);
    const now = pricedBlocks(blocksOfRequest(sent.data, known), step.usage, rates);
    const old =
      sentBefore.data && before
        ? pricedBlocks(blocksOfRequest(sentBefore.data, known), before.usage, rates)
        : undefined;
    return compared(now, old);
    // oxlint-disable-next-line exhaustive-deps -- the view is changed in place.
  }, [sent.data, sentBefore.data, step, before]);

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
            {visibleLine(view.title ?? "Session")}
          </Link>
          <span className="sep">/</span>
        </div>
        <h1 className="cut">What the model saw</h1>
        <span className="grow" />
        {step && <StepButtons at={at} count={steps.length} onStep={go} />}
        {sent.data && <CopyButton text={JSON.stringify(sent.data.body, null, 2)} label="Copy the request as JSON" />}
      </header>
      {phase === "loading" || (step && sent.isLoading) ? (
        <LoadingRows rows={10} />
      ) : !step ? (
        <Nothing title="The model was not asked yet" state="idle">
          Each step of the session will stand here with its request.
        </Nothing>
      ) : sent.isError ? (
        <Nothing title="The request of this step cannot be shown" state="failed">
          {sentenceOf(sent.error)}
        </Nothing>
      ) : (
        <div className="ctx">
          <StepList steps={steps} at={at} onStep={go} />
          <SentBlocks blocks={blocks} step={step} hasBefore={before !== undefined} />
          <ContextSide blocks={blocks} step={step} sent={sent.data} sessionId={id} />
        </div>
      )}
    </>
  );
}

/** The request of the last attempt of a step. */
async function request(api: ReturnType<typeof useApi>, id: string, step: Step | undefined) {
  if (!step) throw new Error("There is no such step.");
  const sent = await api.sentAt(id, step.runId, step.number);
  const own = sent.filter(({ purpose }) => purpose === step.purpose).at(-1) ?? sent.at(-1);
  if (!own)
    throw new Error("The log has no request for this step. Claude Code makes its own requests, which are not in it.");
  return own;
}

/** Millionths of a dollar per token, from what the step itself cost. */
function ratesOf({ usage, cost }: Step): { read: number; written: number; input: number } {
  const per = (micros: number, tokens: number | null | undefined): number => (tokens ? micros / tokens : 0);
  return {
    read: per(cost?.cache_read_micros ?? 0, usage?.cache_read_input_tokens),
    written: per(cost?.cache_write_micros ?? 0, usage?.cache_creation_input_tokens),
    input: per(cost?.input_micros ?? 0, usage?.input_tokens),
  };
}
