import { useMemo } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { highlighted } from "./highlight.tsx";
import { shownLines, visible } from "./safe-text.ts";

/** The most characters of code that are shown; copying copies all of it. */
const MOST = 400_000;

/** A box of code that scrolls inside itself. */
export function CodeBox({ code, language, title }: { code: string; language?: string | undefined; title?: string }) {
  const shown = useMemo(
    () => highlighted(visible(shownLines(code.slice(0, MOST)).join("\n")), language),
    [code, language],
  );
  return (
    <div className="code">
      {title !== undefined && <div className="code-h">{title}</div>}
      <CopyButton text={code} className="code-copy" />
      {/* A region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>
        <code>{shown}</code>
      </pre>
    </div>
  );
}
