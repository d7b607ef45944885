import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useChanged } from "../api/context.tsx";
import { useProblem } from "../api/use-problem.ts";
import { visibleLine } from "../text/safe-text.ts";
import { plural } from "../ui/amounts.ts";
import type { SessionFile } from "./session-files.ts";

/** Says what a copy of the file will be, copies the file into a session when asked to, and opens the session. */
export function ImportDialog({ file, onClose }: { file: SessionFile; onClose: () => void }) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const [isCopying, setCopying] = useState(false);
  const { problem, showError, clear } = useProblem();
  async function copy(): Promise<void> {
    setCopying(true);
    clear();
    try {
      const { id } = await file.copy(api);
      changed();
      go(`/sessions/${id}`);
    } catch (error) {
      showError(error);
      setCopying(false);
    }
  }
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">Copy this file into a session of Skein?</DialogHeading>
      <p className="strong">{visibleLine(file.name)}</p>
      {file.kind === "transcript" ? <AboutTranscript lines={file.count} /> : <AboutExport events={file.count} />}
      {problem !== undefined && (
        <p role="alert" className="say-failed">
          {problem}
        </p>
      )}
      <div className="form-foot">
        <button type="button" className="btn solid" disabled={isCopying} onClick={() => void copy()}>
          {isCopying ? "Copying…" : "Copy into Skein"}
        </button>
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

function AboutTranscript({ lines }: { lines: number }) {
  return (
    <p className="muted">
      A transcript of Claude Code, {plural(lines, "line")}. The copy is a session of Skein, which you can continue here.
      The transcript stays as it is, and what Claude Code adds to it later is not in the copy. Not copied: subagents,
      long results and earlier versions of files, which Claude Code keeps in other files. If the list already has this
      session of Claude Code, the copy is a second row of the list.
    </p>
  );
}

function AboutExport({ events }: { events: number }) {
  return (
    <p className="muted">
      An export of a session, {plural(events, "event")}. The copy is a new session with an id of its own. The session
      that was exported stays as it is.
    </p>
  );
}
