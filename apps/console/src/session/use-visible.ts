import { useCallback, useState } from "react";
import type { Visible } from "./transcript.tsx";

/** The part of the transcript that is on the screen. The page renders again only if this part changes. */
export function useVisible(): readonly [visible: Visible, settle: (next: Visible) => void] {
  const [visible, setVisible] = useState<Visible>({ from: 0, to: 0 });
  const settle = useCallback(
    (next: Visible) => setVisible((old) => (old.from === next.from && old.to === next.to ? old : next)),
    [],
  );
  return [visible, settle];
}
