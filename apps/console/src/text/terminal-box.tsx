import { useMemo, useState } from "react";
import { plural } from "../ui/amounts.ts";
import { shownLines } from "./safe-text.ts";
import { terminalPieces } from "./terminal-lines.ts";

/** A folded output shows at most this many lines and characters. */
const LINES = 14;
const MOST = 200_000;

/**
 * The output of a command with its colours. A long output is folded to its last lines, because they have the result.
 */
export function TerminalBox({ output }: { output: string }) {
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => shownLines(output.replace(/\n+$/, "")), [output]);
  const isLong = lines.length > LINES + 4 || output.length > MOST;
  const text = isLong && !isWhole ? lines.slice(-LINES).join("\n").slice(-MOST) : lines.join("\n").slice(0, MOST * 20);
  const pieces = useMemo(() => terminalPieces(text), [text]);
  return (
    <>
      {isLong && (
        <button type="button" className="tail link" onClick={() => setWhole(!isWhole)}>
          {isWhole ? `The last ${LINES} lines` : `All ${plural(lines.length, "line")}`}
        </button>
      )}
      <pre className="term" tabIndex={0}>
        {pieces.map(({ text: piece, className }, at) => (
          <span key={at} className={className}>
            {piece}
          </span>
        ))}
      </pre>
    </>
  );
}
