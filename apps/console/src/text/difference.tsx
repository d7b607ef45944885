import { diffWordsWithSpace } from "diff";
import { useMemo, useState } from "react";
import { plural } from "../ui/amounts.ts";
import { type DifferenceLine, differenceLines, unifiedLines } from "./difference-lines.ts";
import { highlighted, languageOf } from "./highlight.tsx";

/** How many lines a folded difference shows. */
const SHOWN = 24;

interface DifferenceProps {
  readonly before: string;
  readonly after: string;
  readonly path?: string;
  /** Whether all lines are shown without a click, for changes that a person approves. */
  readonly isWhole?: boolean;
  /** Whether unchanged lines are left out. */
  readonly isChangesOnly?: boolean;
}

/** Compares two texts line by line, and marks the changed words. */
export function Difference({ before, after, path = "", isWhole = false, isChangesOnly = false }: DifferenceProps) {
  const lines = useMemo(
    () => differenceLines(before, after).filter(({ sign }) => !isChangesOnly || sign !== " "),
    [before, after, isChangesOnly],
  );
  return <Lines lines={lines} path={path} isWhole={isWhole} />;
}

/** A difference in the unified format, as the server sends it. */
export function UnifiedDifference({ diff, path }: { readonly diff: string; readonly path: string }) {
  const lines = useMemo(() => unifiedLines(diff), [diff]);
  return <Lines lines={lines} path={path} isWhole={false} />;
}

interface LinesProps {
  readonly lines: readonly DifferenceLine[];
  readonly path: string;
  readonly isWhole: boolean;
}

function Lines({ lines, path, isWhole }: LinesProps) {
  const [isOpen, setOpen] = useState(isWhole);
  const shown = isOpen ? lines : lines.slice(0, SHOWN);
  const language = languageOf(path);
  return (
    <>
      <div className="diff" tabIndex={0} role="group" aria-label={`Changes ${path === "" ? "" : `of ${path}`}`}>
        {shown.map((line, at) => (
          <div key={at} className={line.sign === "+" ? "a" : line.sign === "-" ? "d" : ""}>
            <span className="ln">{line.number ?? ""}</span>
            <span
              className="sg"
              aria-label={line.sign === "+" ? "added" : line.sign === "-" ? "removed" : undefined}
              role={line.sign === " " ? undefined : "img"}
            >
              {line.sign}
            </span>
            <span>{line.pair === undefined ? highlighted(line.text, language) : <Words line={line} />}</span>
          </div>
        ))}
      </div>
      {lines.length > shown.length && (
        <button type="button" className="tail link" onClick={() => setOpen(true)}>
          {plural(lines.length - shown.length, "more line")}
        </button>
      )}
    </>
  );
}

function Words({ line }: { line: DifferenceLine }) {
  const [before, after] = line.sign === "-" ? [line.text, line.pair ?? ""] : [line.pair ?? "", line.text];
  const parts = diffWordsWithSpace(before, after).filter((part) => (line.sign === "-" ? !part.added : !part.removed));
  return <>{parts.map((part, at) => (part.added || part.removed ? <mark key={at}>{part.value}</mark> : part.value))}</>;
}
