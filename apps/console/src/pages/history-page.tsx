import { useQuery } from "@tanstack/react-query";
import { type RefObject, useCallback, useMemo, useRef, useState } from "react";
import { useApi } from "../api/context.tsx";
import type { HistoryKey } from "../api/history-key.ts";
import { HistoryInspector, type HistoryTab } from "../history/history-inspector.tsx";
import { HistoryTop } from "../history/history-top.tsx";
import { RawLine } from "../history/raw-line.tsx";
import { useTranscript } from "../history/use-transcript.ts";
import type { CallsOpen } from "../session/call-view.tsx";
import { Timeline } from "../session/timeline.tsx";
import { Transcript, type TranscriptHandle, type Visible } from "../session/transcript.tsx";
import { useVisible } from "../session/use-visible.ts";
import { sourceName } from "../sessions/listed-row.ts";
import { UnreadableSession } from "../sessions/unreadable-session.tsx";
import { plural } from "../ui/amounts.ts";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { ProblemBar } from "../ui/problem-bar.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { useQueryValue } from "../ui/use-query-value.ts";

/** The page of the session that the address names. */
export function HistoryPage({ id }: { id: string }) {
  const [source] = useQueryValue("source");
  const session = useMemo(() => ({ id, source: source ?? undefined }), [id, source]);
  return <SessionOfAgent key={source} session={session} />;
}

/**
 * One session of a coding agent, read from the agent's files. The page shows new messages as the files grow. It opens
 * at the end of a session that may still run, and at the beginning of a finished session.
 */
function SessionOfAgent({ session }: { session: HistoryKey }) {
  const { id } = session;
  const [agentId] = useQueryValue("agent");
  const at = useOffset();
  const [tab, setTab] = useQueryValue("tab");
  const [raw, setRaw] = useQueryValue("line");
  const [withRewound, setRewound] = useState(false);
  const [isDrawer, setDrawer] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [allOpen, setAllOpen] = useState<CallsOpen>();
  const [visible, settleVisible] = useVisible();
  const transcript = useRef<TranscriptHandle>(null);
  const details = useDetails(session);
  const agent = details.data && sourceName(details.data.source);
  const read = useTranscript({ session, agentId, at, withRewound, agent });
  const { view, version } = read;
  const show = useCallback((sequence: number) => {
    transcript.current?.show(sequence);
    setDrawer(false);
  }, []);
  const openRaw = useCallback((sequence: number) => setRaw(String(sequence)), [setRaw]);
  useKeys({
    "]": () => transcript.current?.step(1),
    "[": () => transcript.current?.step(-1),
    o: () => setAllOpen((open) => open !== true),
    i: () => setDrawer((open) => !open),
    ...(isDrawer && { Escape: () => setDrawer(false) }),
    Home: () => transcript.current?.toBeginning(),
    End: () => transcript.current?.follow(),
  });
  if (read.phase === "failed")
    return <UnreadableSession error={read.error} whyGone="Its agent may have deleted this session." />;
  const panel = { view, version, session: undefined, sessionId: id, onShow: show, onRaw: openRaw };
  return (
    <>
      <HistoryTop
        session={session}
        details={details.data}
        withRewound={withRewound}
        onRewound={setRewound}
        onInspector={() => setDrawer(!isDrawer)}
        onProblem={setProblem}
      />
      <ProblemBar problem={problem} onClose={() => setProblem(undefined)} />
      {read.damaged > 0 && (
        <div className="net" role="status">
          {plural(read.damaged, "line")} of the file cannot be read, and {read.damaged === 1 ? "is" : "are"} left out.
        </div>
      )}
      <Timeline view={view} version={version} isRunning={false} visible={visible} onShow={show} />
      <div className="ses">
        <div className="read">
          <Reading
            read={read}
            agentId={agentId}
            at={at}
            allOpen={allOpen}
            handle={transcript}
            onRaw={openRaw}
            onVisible={settleVisible}
          />
        </div>
        <div className={isDrawer ? "insp-wrap is-open" : "insp-wrap"}>
          <HistoryInspector
            tab={(tab ?? "session") as HistoryTab}
            onTab={(next) => setTab(next === "session" ? null : next)}
            details={details.data}
            session={session}
            agentId={agentId}
            panel={panel}
            isPartial={read.hasMore}
          />
        </div>
      </div>
      {raw !== null && (
        <RawLine session={session} agentId={agentId} offset={Number(raw)} onClose={() => setRaw(null)} />
      )}
    </>
  );
}

function useDetails(session: HistoryKey) {
  const api = useApi();
  return useQuery({
    queryKey: ["history", session],
    queryFn: () => api.historySession(session),
    retry: false,
    staleTime: 10_000,
    // The first request makes the server count the usage in the background. The page repeats the request until the
    // usage is known.
    refetchInterval: ({ state }) => (state.data?.usage === null ? 2000 : false),
  });
}

/** Returns the position in the transcript's file that the URL names. */
function useOffset(): number | null {
  const [at] = useQueryValue("at");
  return at === null ? null : Number(at);
}

interface ReadingProps {
  readonly read: ReturnType<typeof useTranscript>;
  readonly agentId: string | null;
  readonly at: number | null;
  readonly allOpen: CallsOpen;
  readonly handle: RefObject<TranscriptHandle | null>;
  readonly onRaw: (sequence: number) => void;
  readonly onVisible: (visible: Visible) => void;
}

function Reading({ read, agentId, at, allOpen, handle, onRaw, onVisible }: ReadingProps) {
  if (read.phase === "loading") return <LoadingRows rows={8} />;
  if (read.view.items.length === 0)
    return (
      <Nothing title="No messages" state="idle">
        The transcript has no messages.
      </Nothing>
    );
  return (
    <Transcript
      key={agentId ?? ""}
      opensAt={read.opensAt}
      view={read.view}
      version={read.version}
      sessionId={null}
      allOpen={allOpen}
      at={at}
      handle={handle}
      onFork={undefined}
      onRaw={onRaw}
      onVisible={onVisible}
      onTop={read.hasMore ? () => void read.more() : undefined}
      onBottom={read.hasLater ? () => void read.later() : undefined}
      onEnd={read.openAt}
    />
  );
}
