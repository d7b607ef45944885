import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { UnifiedDifference } from "../text/difference.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { plural } from "../ui/amounts.ts";

interface RewindDialogProps {
  readonly sessionId: string;
  readonly checkpointId: string;
  readonly onClose: () => void;
}

const MOST_FILES = 50;

/** Restores the files to their state at a message. The dialog shows the changes first. */
export function RewindDialog({ sessionId, checkpointId, onClose }: RewindDialogProps) {
  const api = useApi();
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const change = useQuery({
    queryKey: ["rewind", sessionId, checkpointId],
    // Claude Code has the files and lists the changed files. The diffs come from the log.
    queryFn: async () => {
      const [dry, differences] = await Promise.all([
        api.rewind(sessionId, checkpointId, true),
        api.rewindDifference(sessionId, checkpointId),
      ]);
      return { ...dry, differences: new Map(differences.map((file) => [file.path, file])) };
    },
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
    <Dialog open onClose={onClose} className="dialog wide" backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">Restore the files to this message</DialogHeading>
      {change.isLoading && <p className="muted">Checking what would change…</p>}
      {change.isError && <p className="say-failed">{sentenceOf(change.error)}</p>}
      {change.data && (
        <>
          <p>
            {plural(files.length, "file")} would change: <span className="plus">+{change.data.insertions}</span>{" "}
            <span className="minus">−{change.data.deletions}</span> lines. The messages stay as they are.
          </p>
          <ul className="rewound">
            {files.slice(0, MOST_FILES).map((path) => (
              <RewoundFile key={path} path={path} file={change.data.differences.get(path)} />
            ))}
          </ul>
          {files.length > MOST_FILES && <p className="lbl">And {plural(files.length - MOST_FILES, "more file")}.</p>}
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
          {isSending ? "Restoring…" : "Restore the files"}
        </button>
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

interface RewoundFileProps {
  readonly path: string;
  readonly file: { readonly status: string; readonly diff: string | null } | undefined;
}

function RewoundFile({ path, file }: RewoundFileProps) {
  return (
    <li>
      <div className="rewound-h">
        <code className="cut grow">{visibleLine(path)}</code>
        {file?.status === "removed" && <span className="chip">removed: the file did not exist yet</span>}
      </div>
      {file?.diff == null ? (
        <p className="lbl">
          The log does not contain this change: a command changed the file, or the change was too large for the log.
        </p>
      ) : (
        <UnifiedDifference diff={file.diff} path={path} />
      )}
    </li>
  );
}
