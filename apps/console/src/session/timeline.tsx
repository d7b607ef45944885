import { scaleLinear } from "d3-scale";
import { memo, useRef, useState } from "react";
import { duration, plural } from "../ui/amounts.ts";
import { fullTime } from "../ui/times.ts";
import { useNow } from "../ui/use-now.ts";
import { troubleWords } from "./call-words.ts";
import { type Span, spansOf } from "./spans.ts";
import { timeTicks } from "./time-ticks.ts";
import type { Visible } from "./transcript.tsx";
import type { SessionView } from "./view.ts";

interface TimelineProps {
  readonly view: SessionView;
  readonly version: number;
  readonly isRunning: boolean;
  readonly visible: Visible;
  readonly onShow: (sequence: number) => void;
}

const LANE = 22;
const TOP = 16;
const WIDTH = 1000;
const FRAME_WIDTH = 6;
/** The shortest time span that zooming can show. */
const SHORTEST_MS = 1500;
/** A session that is shorter than this fills only a part of the timeline. */
const LEAST_MS = 300;

/**
 * Shows when model calls, tool calls and waits happened. Subagents with the same name share a lane, and only the first
 * four names have a lane. The wheel zooms, and dragging scrolls.
 */
export const Timeline = memo(function Timeline({ view, isRunning, visible, onShow }: TimelineProps) {
  const now = useNow(1000, isRunning);
  const { spans, lanes, gaps } = spansOf(view, isRunning ? now : undefined);
  const [zoom, setZoom] = useState<readonly [from: number, to: number]>();
  const drag = useRef<{ x: number; zoom: readonly [number, number] } | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [first, last] = [0, Math.max(LEAST_MS, lastRunEnd(view, gaps.place), ...spans.map(({ to }) => to))];
  if (spans.length === 0) return <div className="tl" />;
  const [from, to] = zoom ?? [first, last];
  const x = scaleLinear([from, to], [0, WIDTH]);
  const ticks = timeTicks(from, to);
  const height = TOP + lanes.length * LANE;

  const zoomAt = (ratio: number, factor: number): void => {
    const centre = from + (to - from) * ratio;
    const span = Math.min(last - first, Math.max(SHORTEST_MS, (to - from) * factor));
    const begin = Math.max(first, Math.min(centre - span * ratio, last - span));
    setZoom(span >= last - first ? undefined : [begin, begin + span]);
  };
  const ratioAt = (clientX: number): number => {
    const box = svg.current?.getBoundingClientRect();
    return box ? Math.min(1, Math.max(0, (clientX - box.left) / box.width)) : 0;
  };
  const frame = frameOf([x(gaps.place(visible.from)), x(gaps.place(visible.to))]);

  return (
    <div className="tl">
      <div className="tlg">
        <div className="tll" aria-hidden="true">
          <PauseNote isNeeded={gaps.breaks.length > 0} />
          {lanes.map((lane) => (
            <span key={lane} className="cut">
              {lane}
            </span>
          ))}
        </div>
        <svg
          ref={svg}
          viewBox={`0 0 ${WIDTH} ${height}`}
          preserveAspectRatio="none"
          style={{ height: `${height}px` }}
          role="img"
          aria-label={sentence(view, last)}
          onWheel={(event) => {
            if (event.ctrlKey || event.metaKey || Math.abs(event.deltaY) > Math.abs(event.deltaX))
              zoomAt(ratioAt(event.clientX), event.deltaY > 0 ? 1.25 : 0.8);
          }}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, zoom: [from, to] };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const start = drag.current;
            const box = svg.current?.getBoundingClientRect();
            if (!start || !box || Math.abs(event.clientX - start.x) < 3 || !zoom) return;
            const by = ((start.x - event.clientX) / box.width) * (start.zoom[1] - start.zoom[0]);
            const begin = Math.max(first, Math.min(start.zoom[0] + by, last - (start.zoom[1] - start.zoom[0])));
            setZoom([begin, begin + (start.zoom[1] - start.zoom[0])]);
          }}
          onPointerUp={(event) => {
            const start = drag.current;
            drag.current = null;
            if (start && Math.abs(event.clientX - start.x) < 3)
              showAt(spans, from + (to - from) * ratioAt(event.clientX), onShow);
          }}
          onDoubleClick={() => setZoom(undefined)}
        >
          <defs>
            <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="5" height="5" className="f-waiting-soft" />
              <rect width="2.4" height="5" className="f-waiting" />
            </pattern>
          </defs>
          {frame && (
            <rect
              className="tl-frame"
              x={frame.left}
              width={frame.width}
              y={TOP - 1}
              height={height - TOP + 1}
              rx="3"
            />
          )}
          {ticks.map(({ at }) => (
            <line key={at} className="tl-tick" x1={x(at)} x2={x(at)} y1={TOP} y2={height} />
          ))}
          {gaps.breaks
            .filter((at) => at > from && at < to)
            .map((at) => (
              <line key={`b${at}`} className="tl-break" x1={x(at)} x2={x(at)} y1={TOP - 4} y2={height} />
            ))}
          {spans
            .filter((span) => span.to >= from && span.from <= to)
            .map((span) => (
              <rect
                key={span.key}
                className={`tl-span ${span.kind}`}
                x={x(span.from)}
                width={Math.max(2.5, x(span.to) - x(span.from) - 1)}
                y={TOP + lanes.indexOf(span.lane) * LANE + 4}
                height={LANE - 8}
                rx="2"
              >
                <title>{`${span.title}\n${fullTime(span.at)}`}</title>
              </rect>
            ))}
          {isRunning && <line className="tl-now" x1={x(last)} x2={x(last)} y1={TOP - 4} y2={height} />}
        </svg>
        <div className="tl-labels" aria-hidden="true">
          {spans
            .filter(
              ({ label, from: begin, to: end }) => label !== "" && begin >= from && x(end) - x(begin) > WIDTH * 0.022,
            )
            .map((span) => (
              <span
                key={span.key}
                className={span.kind}
                style={{
                  left: `${(x(span.from) / WIDTH) * 100}%`,
                  width: `${((Math.min(x(span.to), WIDTH) - x(span.from)) / WIDTH) * 100}%`,
                  top: `${TOP + lanes.indexOf(span.lane) * LANE + 4}px`,
                }}
              >
                {span.label}
              </span>
            ))}
        </div>
        <div className="tl-axis" aria-hidden="true">
          {ticks.map(({ at, label }) => (
            <span
              key={at}
              className={x(at) > WIDTH * 0.93 ? "at-end" : ""}
              style={{ left: `${(x(at) / WIDTH) * 100}%` }}
            >
              {label}
            </span>
          ))}
        </div>
      </div>
      {zoom && (
        <button type="button" className="btn tl-reset" onClick={() => setZoom(undefined)}>
          Show all
        </button>
      )}
    </div>
  );
});

/** Returns the position of the end of the last run, or 0 while the last run is in progress. */
function lastRunEnd(view: SessionView, place: (at: number) => number): number {
  const end = view.runs.at(-1)?.endedAt ?? null;
  return end === null ? 0 : place(end);
}

/** Says that the timeline leaves out long pauses. */
function PauseNote({ isNeeded }: { isNeeded: boolean }) {
  return (
    <span className="tl-gap" title={isNeeded ? "A dashed line is a long pause, which is left out" : undefined}>
      {isNeeded && "no pauses"}
    </span>
  );
}

/**
 * Returns the frame around the part of the session that the transcript shows. The frame stays inside the timeline. Null
 * if the timeline does not contain this part.
 */
function frameOf([from, to]: readonly [number, number]): { readonly left: number; readonly width: number } | null {
  if (from > to || to < 0 || from > WIDTH) return null;
  const width = Math.min(WIDTH, Math.max(FRAME_WIDTH, Math.min(WIDTH, to) - Math.max(0, from)));
  return { left: Math.min(Math.max(0, from), WIDTH - width), width };
}

function showAt(spans: readonly Span[], at: number, onShow: (sequence: number) => void): void {
  const hit = spans.find((span) => span.from <= at && span.to >= at) ?? spans.findLast((span) => span.from <= at);
  if (hit) onShow(hit.sequence);
}

function sentence(view: SessionView, lengthMs: number): string {
  const calls = [...view.calls.values()];
  const failed = calls.filter(({ state }) => state === "failed").length;
  const unknown = calls.filter(({ state }) => state === "unknown").length;
  const notRun = troubleWords(calls, ["denied", "cancelled"]);
  return `Timeline: ${plural(view.steps.length, "step")} in ${duration(lengthMs)}, ${plural(failed, "failed call")}, ${plural(unknown, "call")} with unknown effect${notRun === "" ? "" : `, ${notRun}`}`;
}
