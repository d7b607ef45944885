import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { serverNow } from "../api/server-clock.ts";
import { Icon } from "../ui/icon.tsx";
import { fullDay } from "../ui/times.ts";
import type { CallsOpen } from "./call-view.tsx";
import { groupSteps, StepGroup } from "./step-group.tsx";
import { MarkView, UnknownView } from "./mark-view.tsx";
import { PromptView } from "./prompt-view.tsx";
import { StepView } from "./step-view.tsx";
import { type TranscriptRow, rowsOf } from "./transcript-rows.ts";
import { type Item, type SessionView, endOfStep } from "./view.ts";

/** The time span of the visible rows, for the timeline. */
export interface Visible {
  readonly from: number;
  readonly to: number;
}

export interface TranscriptHandle {
  readonly show: (sequence: number) => void;
  readonly follow: () => void;
  readonly toBeginning: () => void;
  readonly step: (direction: 1 | -1) => void;
}

interface TranscriptProps {
  readonly view: SessionView;
  readonly version: number;
  /** Null for a coding agent's session. The console can neither fork such a session nor show its requests. */
  readonly sessionId: string | null;
  readonly allOpen: CallsOpen;
  /** The event that the URL names. */
  readonly at: number | null;
  /** The end that is shown first if the URL names no event. Default: the end. */
  readonly opensAt?: "beginning" | "end";
  readonly handle: RefObject<TranscriptHandle | null>;
  readonly onFork: ((messageId: string) => void) | undefined;
  readonly onRaw: (sequence: number) => void;
  readonly onVisible: (visible: Visible) => void;
  /** Called when the reader scrolls near the first loaded item, if there is more before it. */
  readonly onTop?: (() => void) | undefined;
  /** Called when the reader scrolls near the last loaded item, if there is more after it. */
  readonly onBottom?: (() => void) | undefined;
  /**
   * Loads the transcript from one of its ends. Without this function, the buttons scroll only to the ends of the loaded
   * part.
   */
  readonly onEnd?: ((end: "beginning" | "end") => void) | undefined;
}

/** While the view is at most this far from the end, it scrolls along as the text grows. */
const END_PX = 60;

/** If an end is farther from the view than this, a button to this end appears. */
const FAR_PX = 200;

/** If the view is closer than this to an end of the loaded items, more items are loaded. */
const NEAR_PX = 1500;

/**
 * Shows the messages and steps of a session. Only visible rows are in the DOM. If the end is visible, the view scrolls
 * along as the text grows.
 */
export function Transcript(props: TranscriptProps) {
  const { view, version, sessionId, allOpen, at, handle, onFork, onRaw, onVisible, onTop, onBottom, onEnd } = props;
  const { opensAt = "end" } = props;
  const list = useRef<VListHandle>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set());
  const folds = useRef<Map<string, number> | undefined>(undefined);
  // The first load decides which runs have folded steps. If a later load adds earlier steps of such a run, these steps
  // are folded too.
  folds.current ??= groupSteps(view);
  // oxlint-disable-next-line exhaustive-deps -- the view is changed in place, and its version says when.
  const rows = useMemo(() => rowsOf(view.items, folds.current, opened), [view, version, opened]);
  // Rows that are inserted before the first one must not move the visible text.
  const first = useRef<string | undefined>(undefined);
  const isPrepended =
    first.current !== undefined && rows[0]?.key !== first.current && rows.some(({ key }) => key === first.current);
  useLayoutEffect(() => {
    first.current = rows[0]?.key;
  }, [rows]);
  const isAtEnd = useRef(at === null && opensAt === "end");
  const [hasNews, setNews] = useState(false);
  const [isFarFrom, setFarFrom] = useState({ beginning: false, end: false });
  const marked = useMemo(() => (at === null ? null : markedCall(view, at)), [view, at]);

  const hasLater = onBottom !== undefined;
  const toEnd = useCallback(() => {
    if (hasLater && onEnd) return onEnd("end");
    isAtEnd.current = true;
    setNews(false);
    list.current?.scrollToIndex(rows.length - 1, { align: "end" });
  }, [rows.length, hasLater, onEnd]);

  const hasEarlier = onTop !== undefined;
  const toBeginning = useCallback(() => {
    if (hasEarlier && onEnd) return onEnd("beginning");
    isAtEnd.current = false;
    list.current?.scrollToIndex(0, { align: "start" });
  }, [hasEarlier, onEnd]);

  const show = useCallback(
    (sequence: number) => {
      const index = rows.findLastIndex((row) => row.items.some((item) => item.sequence <= sequence));
      if (index === -1) return;
      isAtEnd.current = false;
      list.current?.scrollToIndex(index, { align: "start", offset: -12 });
    },
    [rows],
  );

  useLayoutEffect(() => {
    handle.current = {
      show,
      follow: toEnd,
      toBeginning,
      step: (direction) => {
        const first = list.current?.findItemIndex((list.current?.scrollOffset ?? 0) + 20) ?? 0;
        const next =
          direction === 1
            ? rows.findIndex((row, index) => index > first && row.kind !== "mark")
            : rows.findLastIndex((row, index) => index < first && row.kind !== "mark");
        if (next !== -1) list.current?.scrollToIndex(next, { align: "start", offset: -12 });
      },
    };
  }, [handle, rows, show, toEnd, toBeginning]);

  const shownAt = useRef(at);
  useEffect(() => {
    if (at !== null) show(at);
    shownAt.current = at;
    // When the rest of the log arrives, the visible text must not move.
    // oxlint-disable-next-line exhaustive-deps
  }, [at]);

  // Whether later items could be loaded at the previous update. Undefined until the first items are shown.
  const hadLater = useRef<boolean | undefined>(undefined);
  useLayoutEffect(() => {
    if (isAtEnd.current) list.current?.scrollToIndex(rows.length - 1, { align: "end" });
    // Items that the reader has loaded by scrolling are not new.
    else if (hadLater.current === false && !isPrepended) setNews(true);
    hadLater.current = hasLater;
    // oxlint-disable-next-line exhaustive-deps -- only what is shown counts, not whether more can be loaded.
  }, [version, rows.length]);

  const lastOffset = useRef(0);
  const scrolled = (offset: number): void => {
    const current = list.current;
    if (!current) return;
    // Only the reader can stop the view from following the end, by scrolling up. Growing text does not stop it.
    const isNear = current.scrollSize - offset - current.viewportSize < END_PX;
    if (isNear && !hasLater) isAtEnd.current = true;
    else if (offset < lastOffset.current - 1) isAtEnd.current = false;
    lastOffset.current = offset;
    if (isAtEnd.current) setNews(false);
    if (offset < NEAR_PX) onTop?.();
    if (current.scrollSize - offset - current.viewportSize < NEAR_PX) onBottom?.();
    tellVisible(offset);
    lookAround();
  };

  /**
   * Called when the sizes of the shown rows are known. Reports the visible rows again, because the user may not scroll.
   */
  const measured = (): void => {
    if (isAtEnd.current) list.current?.scrollToIndex(rows.length - 1, { align: "end" });
    tellVisible(list.current?.scrollOffset ?? 0);
    lookAround();
  };

  const lookAround = (): void => {
    const current = list.current;
    if (!current) return;
    const beginning = hasEarlier || current.scrollOffset > FAR_PX;
    const end = hasLater || current.scrollSize - current.scrollOffset - current.viewportSize > FAR_PX;
    setFarFrom((was) => (was.beginning === beginning && was.end === end ? was : { beginning, end }));
  };

  const tellVisible = (offset: number): void => {
    const current = list.current;
    if (!current) return;
    const from = rows[current.findItemIndex(offset)];
    const to = rows[current.findItemIndex(offset + current.viewportSize)];
    if (from && to) onVisible({ from: from.items[0]?.at ?? 0, to: endOf(to.items.at(-1)) });
  };

  useEffect(() => {
    tellVisible(list.current?.scrollOffset ?? 0);
    lookAround();
  });
  const isShort = rows.length < 30;
  useEffect(() => {
    // Few rows may not fill the screen, and then nobody can scroll. So more rows are loaded without scrolling.
    if (isShort) onTop?.();
    if (isShort) onBottom?.();
    // oxlint-disable-next-line exhaustive-deps -- asked once for each page.
  }, [isShort, rows.length]);

  return (
    <div className="transcript">
      <VList
        ref={list}
        data={rows}
        className="scroll"
        onScroll={scrolled}
        onResize={measured}
        itemSize={180}
        shift={isPrepended && !isAtEnd.current}
        tabIndex={0}
        aria-label="Transcript"
      >
        {(row: TranscriptRow) => (
          <div className={`col ${row.kind === "prompt" ? "is-prompt" : ""}`} key={row.key}>
            {row.day !== null && <DayHeading day={row.day} at={row.items[0]?.at ?? 0} />}
            {row.items.length > 1 || row.kind === "group" ? (
              <StepGroup steps={row.items} onOpen={() => setOpened(new Set([...opened, row.key]))} />
            ) : (
              row.items.map((item) => (
                <Row
                  key={item.key}
                  item={item}
                  sessionId={sessionId}
                  allOpen={allOpen}
                  markedCall={marked}
                  onFork={onFork}
                  onRaw={onRaw}
                />
              ))
            )}
          </div>
        )}
      </VList>
      <EndButtons isFarFrom={isFarFrom} hasNews={hasNews} onBeginning={toBeginning} onEnd={toEnd} />
    </div>
  );
}

interface EndButtonsProps {
  readonly isFarFrom: { readonly beginning: boolean; readonly end: boolean };
  /** Whether the end has new items that the reader has not seen. */
  readonly hasNews: boolean;
  readonly onBeginning: () => void;
  readonly onEnd: () => void;
}

/** A button for each end of the transcript that is out of sight. */
function EndButtons({ isFarFrom, hasNews, onBeginning, onEnd }: EndButtonsProps) {
  return (
    <div className="ends">
      {isFarFrom.beginning && (
        <button
          type="button"
          className="btn"
          aria-label="Beginning"
          title="Go to the beginning (Home)"
          onClick={onBeginning}
        >
          <Icon name="down" small className="upwards" />
          <span className="desk-only">Beginning</span>
        </button>
      )}
      {(hasNews || isFarFrom.end) && (
        <button
          type="button"
          className="btn"
          aria-label={hasNews ? "New below" : "End"}
          title="Go to the end (End)"
          onClick={onEnd}
        >
          <Icon name="down" small />
          {hasNews ? "New below" : <span className="desk-only">End</span>}
        </button>
      )}
    </div>
  );
}

/** The day of the rows below. */
function DayHeading({ day, at }: { day: string; at: number }) {
  return (
    <h2 className="mark day" title={fullDay(at)}>
      {day}
    </h2>
  );
}

interface RowProps extends Pick<TranscriptProps, "sessionId" | "allOpen" | "onFork" | "onRaw"> {
  readonly item: Item;
  readonly markedCall: string | null;
}

function Row({ item, sessionId, allOpen, markedCall, onFork, onRaw }: RowProps) {
  switch (item.kind) {
    case "prompt":
      return <PromptView prompt={item} version={item.version} sessionId={sessionId} onFork={onFork} />;
    case "step":
      return (
        <StepView step={item} version={item.version} sessionId={sessionId} allOpen={allOpen} markedCall={markedCall} />
      );
    case "mark":
      return <MarkView mark={item} />;
    case "unknown":
      return <UnknownView item={item} onRaw={onRaw} />;
  }
}

function markedCall(view: SessionView, at: number): string | null {
  for (const call of view.calls.values())
    if (call.startedSequence === at || call.endedSequence === at || call.wait?.sequence === at) return call.id;
  return null;
}

function endOf(item: Item | undefined): number {
  if (item?.kind !== "step") return item?.at ?? 0;
  if (item.state === "running") return Math.ceil(serverNow() / 1000) * 1000;
  const ends = item.calls.map(({ endedAt }) => endedAt ?? 0);
  return Math.max(item.at, endOfStep(item) ?? 0, ...ends);
}
