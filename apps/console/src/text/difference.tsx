import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo, useState } from "react";
import { plural } from "../ui/amounts.ts";
import { highlighted, languageOf } from "./highlight.tsx";
import { shownLine, shownLines, visible } from "./safe-text.ts";

/** One line of a difference. */
interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
  readonly number: number | null;
  /** The same line before or after the change, to mark the words that differ. */
  pair?: string;
}

/** How many lines a difference shows before it is opened. */
const SHOWN = 24;
const MOST = 300_000;

interface DifferenceProps {
  readonly before: string;
  readonly after: string;
  readonly path?: string;
  /** Everything at once: for what a person approves. */
  readonly isWhole?: boolean;
  /** Without the lines that stayed the same. */
  readonly isChangesOnly?: boolean;
}

/** Two texts, line by line, with the changed words marked. */
export function Difference({ before, after, path = "", isWhole = false, isChangesOnly = false }: DifferenceProps) {
  const lines = useMemo(
    () => linesOf(before, after).filter(({ sign }) => !isChangesOnly || sign !== " "),
    [before, after, isChangesOnly],
  );
  return <Lines lines={lines} path={path} isWhole={isWhole} />;
}

/** A difference in the unified format, as servers give it. */
export function UnifiedDifference({ diff, path }: { readonly diff: string; readonly path: string }) {
  const lines = useMemo(() => unifiedLines(diff), [diff]);
  return <Lines lines={lines} path={path} isWhole={false} />;
}

interface LinesProps {
  readonly lines: readonly Line[];
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

function Words({ line }: { line: Line }) {
  const [before, after] = line.sign === "-" ? [line.text, line.pair ?? ""] : [line.pair ?? "", line.text];
  const parts = diffWordsWithSpace(before, after).filter((part) => (line.sign === "-" ? !part.added : !part.removed));
  return <>{parts.map((part, at) => (part.added || part.removed ? <mark key={at}>{part.value}</mark> : part.value))}</>;
}

function linesOf(before: string, after: string): readonly Line[] {
  if (before.length + after.length > MOST) return whole(after, "+");
  const lines: Line[] = [];
  let [oldAt, newAt] = [1, 1];
  for (const part of diffLines(visible(before), visible(after))) {
    const sign = part.added ? "+" : part.removed ? "-" : " ";
    for (const text of part.value.replace(/\n$/, "").split("\n")) {
      lines.push({ sign, text: shownLine(text), number: sign === "-" ? oldAt : newAt });
      if (sign !== "+") oldAt += 1;
      if (sign !== "-") newAt += 1;
    }
  }
  return paired(before === "" ? lines.filter(({ sign }) => sign === "+") : lines);
}

/** The lines of a difference in the unified format, without the names of the files. A gap between its parts is an empty number. */
export function unifiedLines(diff: string): readonly Line[] {
  const lines: Line[] = [];
  let [oldAt, newAt] = [1, 1];
  for (const text of visible(diff).replace(/\n$/, "").split("\n")) {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text) ?? [];
    const sign = text[0];
    if (before !== undefined && after !== undefined) [oldAt, newAt] = [Number(before), Number(after)];
    else if (/^(?:---|\+\+\+) /.test(text) && lines.length === 0) continue;
    else if (sign === "+" || sign === "-" || sign === " ") {
      lines.push({ sign, text: shownLine(text.slice(1)), number: sign === "-" ? oldAt : newAt });
      if (sign !== "+") oldAt += 1;
      if (sign !== "-") newAt += 1;
    }
  }
  return paired(lines);
}

function whole(text: string, sign: "+" | "-"): readonly Line[] {
  return shownLines(text).map((line, at) => ({ sign, text: visible(line), number: at + 1 }));
}

/** A removed line and the added one in its place: as many of each, one after the other. */
function paired(lines: Line[]): readonly Line[] {
  for (let at = 0; at < lines.length;) {
    const removed = run(lines, at, "-");
    const added = run(lines, at + removed, "+");
    if (removed > 0 && removed === added)
      for (let line = 0; line < removed; line++) {
        const [one, other] = [lines[at + line], lines[at + removed + line]];
        if (!one || !other || !isAlike(one.text, other.text)) continue;
        one.pair = other.text;
        other.pair = one.text;
      }
    at += Math.max(1, removed + added);
  }
  return lines;
}

function run(lines: readonly Line[], from: number, sign: Line["sign"]): number {
  let at = from;
  while (lines[at]?.sign === sign) at += 1;
  return at - from;
}

/** Lines that have little in common are two lines, and not one that was changed. */
function isAlike(one: string, other: string): boolean {
  const words = new Set(one.split(/\W+/).filter((word) => word !== ""));
  const others = other.split(/\W+/).filter((word) => word !== "");
  const shared = others.filter((word) => words.has(word)).length;
  return shared * 2 >= Math.max(words.size, others.length);
}
