import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import { useMemo } from "react";
import { CodeBox } from "../text/code-box.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { BeforeAfter } from "../ui/before-after.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { fullTime } from "../ui/times.ts";
import type { SessionView } from "./view.ts";

/** Only this many characters of an event are shown. The export has all characters. */
const MOST = 200_000;

/** A dialog that shows one stored event. Each event has a URL. */
export function RawEvent({
  view,
  sequence,
  onGo,
  onClose,
}: {
  view: SessionView;
  sequence: number;
  onGo: (sequence: number) => void;
  onClose: () => void;
}) {
  const event = view.events.find((one) => one.sequence === sequence);
  const text = useMemo(() => (event ? JSON.stringify(event, null, 2) : ""), [event]);
  return (
    <Dialog open onClose={onClose} className="dialog wide" backdrop={<div className="scrim" />}>
      <div className="h">
        <DialogHeading className="dialog-title">
          Event {sequence} {event && <code>{visibleLine(event.event_type)}</code>}
        </DialogHeading>
        <span className="end">
          <BeforeAfter noun="event" at={sequence} first={1} last={view.sequence} onGo={onGo} />
          <CopyButton text={location.href} label="Copy a link to this event" />
          <DialogDismiss className="btn quiet icon" aria-label="Close">
            <Icon name="x" />
          </DialogDismiss>
        </span>
      </div>
      {event ? (
        <>
          <p className="lbl">{fullTime(event.created_at)}</p>
          <CodeBox code={text.slice(0, MOST)} language={text.length > 50_000 ? undefined : "json"} />
          {text.length > MOST && (
            <p className="lbl">
              The first {MOST} characters of {text.length}. An export of the session has all of it.
            </p>
          )}
        </>
      ) : (
        <p className="muted">Event {sequence} is not in the part of the log that is loaded.</p>
      )}
    </Dialog>
  );
}
