import { type RefObject, useEffect, useImperativeHandle, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { Link, useLocation } from "wouter";
import { visibleLine } from "../text/safe-text.ts";
import { briefDuration, shortModel } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { Marked } from "../ui/highlighted-text.tsx";
import { StateMark, StateWord } from "../ui/status.tsx";
import { dayHeading, fullTime, when } from "../ui/times.ts";
import type { ListedRow } from "./listed-row.ts";
import type { SessionRows } from "./use-session-rows.ts";

export interface SessionListHandle {
  readonly move: (by: number) => void;
  readonly open: () => void;
}

interface SessionListProps {
  readonly rows: SessionRows;
  readonly search: string;
  readonly handle: RefObject<SessionListHandle | null>;
  /** Whether the list has a heading for each day. */
  readonly isGrouped: boolean;
  /** Whether rows show their source. */
  readonly hasSources: boolean;
}

const LENGTH = "The duration of the last run";
const LENGTH_OF_TRANSCRIPTS = "For other agents: from the first to the last message, with the pauses between prompts";

/** A virtual list: only visible rows are in the DOM, and only their pages are loaded. */
export function SessionList({ rows, search, handle, isGrouped, hasSources }: SessionListProps) {
  const list = useRef<VListHandle>(null);
  const [, go] = useLocation();
  const [chosen, setChosen] = useState(-1);
  const total = rows.total ?? 0;
  const indexes = useMemo(() => Array.from({ length: total }, (_, index) => index), [total]);
  useImperativeHandle(handle, () => ({
    move(by) {
      const next = Math.max(0, Math.min(total - 1, chosen + by));
      setChosen(next);
      list.current?.scrollToIndex(next, { align: "nearest" });
    },
    open() {
      const row = rows.rowAt(Math.max(0, chosen));
      if (row) go(row.href);
    },
  }));
  const wantVisible = (): void => {
    const current = list.current;
    if (!current) return;
    rows.want(current.findItemIndex(current.scrollOffset));
    rows.want(Math.min(total - 1, current.findItemIndex(current.scrollOffset + current.viewportSize) + 20));
  };
  useEffect(() => wantVisible());
  return (
    <div
      className={`slist ${hasSources ? "with-sources" : ""}`}
      role="table"
      aria-label="Sessions"
      aria-rowcount={total}
    >
      <div className="srow shead" role="row">
        {["Status", "Title", ...(hasSources ? ["Source"] : []), hasSources ? "Agent or project" : "Agent", "Model"].map(
          (name) => (
            <span key={name} role="columnheader">
              {name}
            </span>
          ),
        )}
        {["Runs", "Length", "Cost", "Last run"].map((name) => (
          <span
            key={name}
            role="columnheader"
            className="r"
            title={name === "Length" ? (hasSources ? `${LENGTH}. ${LENGTH_OF_TRANSCRIPTS}` : LENGTH) : undefined}
          >
            {name}
          </span>
        ))}
      </div>
      <VList ref={list} className="scroll" data={indexes} itemSize={36} role="rowgroup" onScroll={wantVisible}>
        {(index: number) => {
          const row = rows.rowAt(index);
          const heading = headingOf(rows, index, isGrouped);
          return (
            <div key={index} className="sentry">
              {heading !== null && (
                <div className="sgroup" role="row">
                  <span role="cell">{heading}</span>
                </div>
              )}
              {row ? (
                <SessionRow
                  row={row}
                  index={index}
                  isChosen={index === chosen}
                  search={search}
                  excerpt={rows.excerptOf(row.key)}
                  hasSources={hasSources}
                />
              ) : (
                <div className="srow is-loading" role="row" aria-rowindex={index + 1}>
                  <span role="cell" className="ghost" />
                </div>
              )}
            </div>
          );
        }}
      </VList>
    </div>
  );
}

/** Returns the heading above a row. Each day has a heading, and so do the rows that were found by their text. */
function headingOf(rows: SessionRows, index: number, isGrouped: boolean): string | null {
  if (index === rows.titled) return "Found in messages and tool calls";
  if (!isGrouped || index > rows.titled) return null;
  const row = rows.rowAt(index);
  if (!row) return null;
  const before = index === 0 ? undefined : rows.rowAt(index - 1);
  if (index > 0 && !before) return null;
  const own = dayHeading(row.at);
  return before && dayHeading(before.at) === own ? null : own;
}

interface SessionRowProps {
  readonly row: ListedRow;
  readonly index: number;
  readonly isChosen: boolean;
  readonly search: string;
  readonly excerpt: string;
  readonly hasSources: boolean;
}

function SessionRow({ row, index, isChosen, search, excerpt, hasSources }: SessionRowProps) {
  return (
    <div
      className={`srow ${isChosen ? "is-chosen" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isChosen}
    >
      <span role="cell" className="c-state">
        {row.state === null ? <span className="st idle w-calm">Transcript</span> : <StateWord state={row.state} />}
      </span>
      <span role="cell" className="c-title cut">
        <Link href={row.href} className="strong cut">
          <Marked text={visibleLine(row.title)} search={search} />
        </Link>
        {excerpt !== "" && (
          <span className="faint cut excerpt">
            <Marked text={`…${visibleLine(excerpt)}…`} search={search} />
          </span>
        )}
        {row.hasUnknownEffect && <StateMark state="unknown" word="An effect is unknown" />}
        {row.isFork && (
          <span className="chip" title="A fork">
            <Icon name="fork" small />
          </span>
        )}
        {row.tags.slice(0, 2).map((tag) => (
          <span className="chip desk-only" key={tag}>
            {visibleLine(tag)}
          </span>
        ))}
      </span>
      {hasSources && (
        <span role="cell" className="c-source cut muted">
          {visibleLine(row.source)}
        </span>
      )}
      <span role="cell" className="c-agent cut muted">
        {row.state === null && <span className="phone-only">{visibleLine(row.source)} · </span>}
        {visibleLine(row.place)}
      </span>
      <span role="cell" className="c-model cut muted">
        {shortModel(visibleLine(row.model))}
      </span>
      <span role="cell" className="r c-runs">
        {row.count}
      </span>
      <span role="cell" className="r c-length">
        {row.lengthMs === 0 ? "" : briefDuration(row.lengthMs)}
      </span>
      <span role="cell" className="r c-cost strong">
        {row.cost}
      </span>
      <span role="cell" className="r c-when faint" title={fullTime(row.at)}>
        {row.state === "running" ? "now" : when(row.at)}
      </span>
    </div>
  );
}
