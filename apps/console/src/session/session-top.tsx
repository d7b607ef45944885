import { useState } from "react";
import { type Session, sentenceOf } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { BackToSessions } from "../ui/back-to-sessions.tsx";
import { duration, money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import type { State } from "../ui/state.ts";
import { StateMark, StateWord } from "../ui/status.tsx";
import { fullTime } from "../ui/times.ts";
import { usePageTitle } from "../ui/use-page-title.ts";
import { useNow } from "../ui/use-now.ts";
import { Forks } from "./forks.tsx";
import { SessionMenu } from "./session-menu.tsx";
import { titleOfView } from "./title-of-view.ts";
import type { SessionView } from "./view.ts";

interface SessionTopProps {
  readonly id: string;
  readonly view: SessionView;
  readonly session: Session | undefined;
  readonly isRunning: boolean;
  readonly onFork: () => void;
  readonly onInspector: () => void;
  readonly onProblem: (problem: string) => void;
}

/** The head of a session: title, state, cost, forks, cancel, and a menu of other actions. */
export function SessionTop({ id, view, session, isRunning, onFork, onInspector, onProblem }: SessionTopProps) {
  const api = useApi();
  const changed = useChanged();
  const [isRenaming, setRenaming] = useState(false);
  const title = titleOfView(view);
  const run = view.runs.at(-1);
  usePageTitle(title);
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
      changed();
    } catch (error) {
      onProblem(sentenceOf(error));
    }
  };
  const rename = (value: string): void => {
    setRenaming(false);
    if (value.trim() !== title) void attempt(() => api.rename(id, value.trim() === "" ? null : value.trim()));
  };
  return (
    <header className="top">
      <BackToSessions />
      {isRenaming ? (
        <input
          className="input title-input"
          aria-label="Title"
          autoFocus
          defaultValue={view.title ?? ""}
          onBlur={(event) => rename(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") rename(event.currentTarget.value);
            if (event.key === "Escape") setRenaming(false);
          }}
        />
      ) : (
        <h1 className="cut" onDoubleClick={() => setRenaming(true)}>
          {visibleLine(title)}
        </h1>
      )}
      <StateWord state={stateOfView(view)} pill />
      {[...view.calls.values()].some(({ state }) => state === "unknown") && (
        <StateMark state="unknown" word="The effect of a call is unknown" />
      )}
      <span className="grow" />
      <span className="meta desk-only num">
        {run && (
          <span title={`The ${view.runs.length > 1 ? "last run" : "run"} began at ${fullTime(run.startedAt)}`}>
            {view.runs.length > 1 && "last run "}
            <RunTime startedAt={run.startedAt} endedAt={run.endedAt} />
          </span>
        )}
        <span className="strong">{money(view.costMicros)}</span>
      </span>
      {session && <Forks session={session} onFork={onFork} />}
      {isRunning && (
        <button
          type="button"
          className="btn"
          disabled={run?.cancelRequested}
          onClick={() => void attempt(() => api.cancel(id))}
        >
          <Icon name="stop" small />
          <span className="desk-only">{run?.cancelRequested ? "Stopping…" : "Cancel"}</span>
          <span className="sr">Cancel the run</span>
        </button>
      )}
      <SessionMenu id={id} attempt={attempt} onRename={() => setRenaming(true)} onFork={onFork} />
      <button type="button" className="btn icon quiet insp-btn" aria-label="Inspector" onClick={onInspector}>
        <Icon name="panel" />
      </button>
    </header>
  );
}

function RunTime({ startedAt, endedAt }: { startedAt: number; endedAt: number | null }) {
  const now = useNow(1000, endedAt === null);
  return <span>{duration((endedAt ?? now) - startedAt)}</span>;
}

/** Derives the state of the session from its log, so that the state is as current as the transcript. */
function stateOfView(view: SessionView): State {
  const run = view.runs.at(-1);
  if (!run) return view.queue.length > 0 ? "queued" : "idle";
  // The last run is over, and a prompt waits for the next run.
  if (run.endedAt !== null && view.queue.length > 0) return "queued";
  if (run.outcome === "failed") return "failed";
  if (run.outcome === "cancelled") return "cancelled";
  if (run.outcome === "completed") return "done";
  return view.open.size > 0 ? "waiting" : "running";
}
