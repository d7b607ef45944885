import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import type { HistoryDetails } from "../api/api.ts";
import { sourceName } from "../sessions/listed-row.ts";
import { visibleLine } from "../text/safe-text.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { continueCommand } from "./continue-command.ts";

/** A dialog with the command that continues a session in the agent that made it. */
export function ContinueDialog({ details, onClose }: { details: HistoryDetails; onClose: () => void }) {
  const command = continueCommand(details.resume);
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">Continue in {visibleLine(sourceName(details.source))}</DialogHeading>
      <p className="muted">Run this in a terminal on the machine that has the session:</p>
      <div className="cmd">
        <pre>{visibleLine(command)}</pre>
        <CopyButton text={command} className="code-copy" label="Copy the command" />
      </div>
      <div className="form-foot">
        <DialogDismiss className="btn">Close</DialogDismiss>
      </div>
    </Dialog>
  );
}
