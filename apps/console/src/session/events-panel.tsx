import type { Event } from "@skein/protocol";
import { useMemo } from "react";
import { VList } from "virtua";
import { visibleLine } from "../text/safe-text.ts";
import { whenExactly } from "../ui/times.ts";
import type { PanelProps } from "./panel-props.ts";

/** The names of the loaded events, the latest first. A click on an event shows its stored JSON. */
export function EventsPanel({ view, version, onRaw }: PanelProps) {
  // oxlint-disable-next-line exhaustive-deps -- the view is changed in place, and its version says when.
  const latest = useMemo(() => view.events.toReversed(), [view, version]);
  return (
    <VList className="events" data={latest} itemSize={28}>
      {(event: Event) => (
        <button key={event.sequence} type="button" className="event" onClick={() => onRaw(event.sequence)}>
          <span className="faint num">{event.sequence}</span>
          <code className="cut">{visibleLine(event.event_type)}</code>
          <span className="faint num">{whenExactly(event.created_at)}</span>
        </button>
      )}
    </VList>
  );
}
