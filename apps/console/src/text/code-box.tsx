import { useMemo } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { highlighted } from "./highlight.tsx";
import { shownLines, visible } from "./safe-text.ts";

/** At most this many characters of code are shown. The copy button copies the whole code. */
const MOST = 400_000;

/** A scrollable box of code. */
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
