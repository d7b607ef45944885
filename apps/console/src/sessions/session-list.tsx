import { type RefObject, useImperativeHandle, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { Link, useLocation } from "wouter";
import type { Session } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { briefDuration, money, shortModel } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { Marked } from "../ui/marked.tsx";
import { lengthOf, stateOf, titleOf } from "../ui/session-state.ts";
import { StateWord } from "../ui/status.tsx";
import { dayHeading, fullTime, when } from "../ui/times.ts";

export interface SessionListHandle {
  readonly move: (by: number) => void;
  readonly open: () => void;
}

interface SessionListProps {
  readonly sessions: readonly Session[];
  readonly names: ReadonlyMap<string, string>;
  readonly search: string;
  /** What was said in sessions that were found by their text. */
  readonly excerpts: ReadonlyMap<string, string>;
  /** Told when the pointer or the focus comes and goes. */
  readonly onPointed: (isPointed: boolean) => void;
  readonly handle: RefObject<SessionListHandle | null>;
  /** With a heading for each day. */
  readonly isGrouped: boolean;
}

type Row = { readonly heading: string } | { readonly session: Session; readonly index: number };

/** A list of any length: only the rows on the screen are in the page. */
export function SessionList({ sessions, names, search, excerpts, onPointed, handle, isGrouped }: SessionListProps) {
  const list = useRef<VListHandle>(null);
  const [, go] = useLocation();
  const [chosen, setChosen] = useState(-1);
  const rows = useMemo(() => rowsOf(sessions, isGrouped), [sessions, isGrouped]);
  useImperativeHandle(handle, () => ({
    move(by) {
      const next = Math.max(0, Math.min(sessions.length - 1, chosen + by));
      setChosen(next);
      list.current?.scrollToIndex(
        rows.findIndex((row) => "index" in row && row.index === next),
        { align: "nearest" },
      );
    },
    open() {
      const session = sessions[Math.max(0, chosen)];
      if (session) go(`/sessions/${session.id}`);
    },
  }));
  return (
    <div
      className="slist"
      role="table"
      aria-label="Sessions"
      aria-rowcount={sessions.length}
      onPointerEnter={() => onPointed(true)}
      onPointerLeave={() => onPointed(false)}
    >
      <div className="srow shead" role="row">
        {["Status", "Title", "Agent", "Model"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
        {["Runs", "Length", "Cost", "Changed"].map((name) => (
          <span key={name} role="columnheader" className="r">
            {name}
          </span>
        ))}
      </div>
      <VList ref={list} className="scroll" data={rows} itemSize={36} role="rowgroup">
        {(row: Row) =>
          "heading" in row ? (
            <div className="sgroup" role="row" key={`h${row.heading}`}>
              <span role="cell">{row.heading}</span>
            </div>
          ) : (
            <SessionRow
              key={row.session.id}
              session={row.session}
              index={row.index}
              isChosen={row.index === chosen}
              agent={names.get(row.session.agent_id) ?? ""}
              search={search}
              excerpt={excerpts.get(row.session.id) ?? ""}
            />
          )
        }
      </VList>
    </div>
  );
}

interface SessionRowProps {
  readonly session: Session;
  readonly index: number;
  readonly isChosen: boolean;
  readonly agent: string;
  readonly search: string;
  readonly excerpt: string;
}

function SessionRow({ session, index, isChosen, agent, search, excerpt }: SessionRowProps) {
  const length = lengthOf(session, Date.now());
  return (
    <div
      className={`srow ${isChosen ? "is-chosen" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isChosen}
    >
      <span role="cell" className="c-state">
        <StateWord state={stateOf(session)} />
      </span>
      <span role="cell" className="c-title cut">
        <Link href={`/sessions/${session.id}`} className="strong cut">
          <Marked text={visibleLine(titleOf(session))} search={search} />
        </Link>
        {excerpt !== "" && (
          <span className="faint cut excerpt">
            <Marked text={`…${visibleLine(excerpt)}…`} search={search} />
          </span>
        )}
        {session.parent_session_id !== null && (
          <span className="chip" title="A fork">
            <Icon name="fork" small />
          </span>
        )}
        {session.tags.slice(0, 2).map((tag) => (
          <span className="chip desk-only" key={tag}>
            {visibleLine(tag)}
          </span>
        ))}
      </span>
      <span role="cell" className="c-agent cut muted">
        {visibleLine(agent)}
      </span>
      <span role="cell" className="c-model cut muted">
        {shortModel(visibleLine(session.model))}
      </span>
      <span role="cell" className="r c-runs">
        {session.total_runs}
      </span>
      <span role="cell" className="r c-length">
        {length === 0 ? "" : briefDuration(length)}
      </span>
      <span role="cell" className="r c-cost strong">
        {money(session.cost_micros)}
      </span>
      <span role="cell" className="r c-when faint" title={fullTime(session.updated_at)}>
        {session.activity === "running" ? "now" : when(session.updated_at)}
      </span>
    </div>
  );
}

function rowsOf(sessions: readonly Session[], isGrouped: boolean): readonly Row[] {
  const rows: Row[] = [];
  const now = Date.now();
  let heading = "";
  let day = "";
  for (const [index, session] of sessions.entries()) {
    const date = session.updated_at.slice(0, 13);
    if (isGrouped && date !== day) {
      day = date;
      const next = dayHeading(session.updated_at, now);
      if (next !== heading) rows.push({ heading: (heading = next) });
    }
    rows.push({ session, index });
  }
  return rows;
}
