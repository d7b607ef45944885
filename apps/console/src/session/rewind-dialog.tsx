import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { plural } from "../ui/amounts.ts";

interface RewindDialogProps {
  readonly sessionId: string;
  readonly checkpointId: string;
  readonly onClose: () => void;
}

/** Brings files back to where they were at a message. What would change is shown first. */
export function RewindDialog({ sessionId, checkpointId, onClose }: RewindDialogProps) {
  const api = useApi();
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const change = useQuery({
    queryKey: ["rewind", sessionId, checkpointId],
    queryFn: () => api.rewind(sessionId, checkpointId, true),
    retry: false,
    staleTime: 0,
  });
  const rewind = async (): Promise<void> => {
    setSending(true);
    try {
      await api.rewind(sessionId, checkpointId, false);
      onClose();
    } catch (error) {
      setProblem(sentenceOf(error));
      setSending(false);
    }
  };
  const files = change.data?.files_changed ?? [];
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">Bring the files back to this message</DialogHeading>
      {change.isLoading && <p className="muted">Looking what would change…</p>}
      {change.isError && <p className="say-failed">{sentenceOf(change.error)}</p>}
      {change.data && (
        <>
          <p>
            {plural(files.length, "file")} would change: <span className="plus">+{change.data.insertions}</span>{" "}
            <span className="minus">−{change.data.deletions}</span> lines. The messages stay as they are.
          </p>
          <ul className="card lastlist">
            {files.slice(0, 50).map((path) => (
              <li key={path} className="setitem">
                <code className="cut">{visibleLine(path)}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {problem !== undefined && (
        <p role="alert" className="say-failed">
          {problem}
        </p>
      )}
      <div className="form-foot">
        <button
          type="button"
          className="btn solid"
          disabled={isSending || files.length === 0}
          onClick={() => void rewind()}
        >
          {isSending ? "Bringing back…" : "Bring back"}
        </button>
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
