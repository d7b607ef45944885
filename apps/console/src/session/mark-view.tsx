import { memo } from "react";
import { visible } from "../text/safe-text.ts";
import { Collapsible } from "../ui/collapsible.tsx";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import type { Mark, Unknown } from "./view.ts";

/** A line about an event of the session, such as a compaction, the end of a run, or a change of worker. */
export const MarkView = memo(function MarkView({ mark }: { mark: Mark }) {
  if (mark.tone === "failed")
    return (
      <div className="ended failed" role="group">
        <StateMark state="failed" />
        <div>
          <b>{mark.text}</b>
          {mark.detail !== null && <p className="muted">{visible(mark.detail)}</p>}
        </div>
      </div>
    );
  return (
    <>
      <div className={`mark ${mark.tone}`}>
        {mark.tone === "cancelled" && <StateMark state="cancelled" />}
        <span>{mark.text}</span>
      </div>
      {mark.detail !== null && (
        <Collapsible title="Show the text">
          <p className="thought">{visible(mark.detail)}</p>
        </Collapsible>
      )}
    </>
  );
});

/** An event of a newer version, shown by its name. */
export function UnknownView({ item, onRaw }: { item: Unknown; onRaw: (sequence: number) => void }) {
  return (
    <div className="mark">
      <span>
        <Icon name="file" small className="inline" /> <code>{visible(item.type)}</code> event {item.sequence}{" "}
        <button type="button" className="link" onClick={() => onRaw(item.sequence)}>
          Raw
        </button>
      </span>
    </div>
  );
}
