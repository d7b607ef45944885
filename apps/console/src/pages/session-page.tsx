import { useQuery } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import type { Session } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import type { CallsOpen } from "../session/call-view.tsx";
import { Inspector, type InspectorTab } from "../session/inspector.tsx";
import { DraftsProvider, type LoadedPhase, useLiveSession } from "../session/live-session.ts";
import { PhaseNote } from "../session/phase-note.tsx";
import { RawEvent } from "../session/raw-event.tsx";
import { SessionPrompt } from "../session/session-prompt.tsx";
import { SessionTop } from "../session/session-top.tsx";
import { Timeline } from "../session/timeline.tsx";
import { Transcript, type TranscriptHandle } from "../session/transcript.tsx";
import { useFork } from "../session/use-fork.ts";
import { useSessionKeys } from "../session/use-session-keys.ts";
import { useTellChanges } from "../session/use-list-updates.ts";
import { useVisible } from "../session/use-visible.ts";
import type { SessionView } from "../session/view.ts";
import { UnreadableSession } from "../sessions/unreadable-session.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { ProblemBar } from "../ui/problem-bar.tsx";
import { useQueryValue } from "../ui/use-query-value.ts";

/** The page of one session. A person can follow the transcript, answer questions, and write messages. */
export function SessionPage({ id }: { id: string }) {
  const api = useApi();
  const live = useLiveSession(id);
  const { view, phase } = live;
  const details = useQuery({ queryKey: ["session", id], queryFn: () => api.session(id) });
  if (phase === "failed")
    return <UnreadableSession error={live.error} whyGone="It was deleted, or your key may not see it." />;
  return (
    <DraftsProvider value={live.drafts}>
      <Loaded
        id={id}
        view={view}
        version={live.version}
        phase={phase}
        session={details.data}
        onTop={live.from > 1 ? () => void live.more() : undefined}
      />
    </DraftsProvider>
  );
}

interface LoadedProps {
  readonly id: string;
  readonly view: SessionView;
  readonly version: number;
  readonly phase: LoadedPhase;
  readonly session: Session | undefined;
  readonly onTop: (() => void) | undefined;
}

function Loaded({ id, view, version, phase, session, onTop }: LoadedProps) {
  const changed = useChanged();
  const [tab, setTab] = useQueryValue("tab");
  const [at, setAt] = useQueryValue("at");
  const [raw, setRaw] = useQueryValue("event");
  const [allOpen, setAllOpen] = useState<CallsOpen>();
  const [isDrawer, setDrawer] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [visible, settleVisible] = useVisible();
  const transcript = useRef<TranscriptHandle>(null);
  const isRunning = view.runs.some(({ endedAt }) => endedAt === null);

  useTellChanges(view, isRunning);
  const show = useCallback((sequence: number) => {
    transcript.current?.show(sequence);
    setDrawer(false);
  }, []);
  const openRaw = useCallback((sequence: number) => setRaw(String(sequence)), [setRaw]);
  const forkAt = useFork(id, setProblem);
  useSessionKeys({
    id,
    transcript,
    onFork: forkAt,
    onAllCalls: () => setAllOpen((open) => open !== true),
    inspector: [isDrawer, setDrawer],
  });
  const panel = { view, version, session, sessionId: id, onShow: show, onRaw: openRaw };

  return (
    <>
      <SessionTop
        id={id}
        view={view}
        session={session}
        isRunning={isRunning}
        onFork={() => forkAt()}
        onInspector={() => setDrawer(!isDrawer)}
        onProblem={setProblem}
      />
      <ProblemBar problem={problem} onClose={() => setProblem(undefined)} />
      <PhaseNote phase={phase} id={id} view={view} />
      <Timeline view={view} version={version} isRunning={isRunning} visible={visible} onShow={show} />
      <div className="ses">
        <div className="read">
          {phase === "loading" ? (
            <LoadingRows rows={8} />
          ) : view.items.length === 0 && view.queue.length === 0 ? (
            <Nothing title="No messages yet" state="idle">
              Write the first message below.
            </Nothing>
          ) : (
            <Transcript
              view={view}
              version={version}
              sessionId={id}
              allOpen={allOpen}
              at={at === null ? null : Number(at)}
              handle={transcript}
              onFork={forkAt}
              onRaw={openRaw}
              onVisible={settleVisible}
              onTop={onTop}
            />
          )}
          <SessionPrompt
            id={id}
            view={view}
            version={version}
            session={session}
            isRunning={isRunning}
            onSent={() => {
              if (at !== null) setAt(null);
              transcript.current?.follow();
              changed();
            }}
          />
        </div>
        <div className={isDrawer ? "insp-wrap is-open" : "insp-wrap"}>
          <Inspector
            tab={(tab ?? "session") as InspectorTab}
            onTab={(next) => setTab(next === "session" ? null : next)}
            {...panel}
          />
        </div>
      </div>
      {raw !== null && <RawEvent view={view} sequence={Number(raw)} onGo={openRaw} onClose={() => setRaw(null)} />}
    </>
  );
}
