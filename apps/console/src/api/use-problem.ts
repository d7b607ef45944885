import { useCallback, useEffect, useState } from "react";
import { sentenceOf } from "./api.ts";
import { isUnreachable } from "./connection.ts";
import { useLostSince } from "./context.tsx";

/** An error is shown at least this long, so that it can be read. */
const READING_MS = 3000;

/** The error of a form. The error that the server cannot be reached goes away when the server answers again. */
export function useProblem(): {
  readonly problem: string | undefined;
  readonly showError: (error: unknown) => void;
  readonly clear: () => void;
} {
  const [shown, setShown] = useState<{ readonly error: unknown; readonly at: number }>();
  const isConnected = useLostSince() === undefined;
  const clear = useCallback(() => setShown(undefined), []);
  useEffect(() => {
    if (!isConnected || !shown || !isUnreachable(shown.error)) return undefined;
    const timer = setTimeout(clear, Math.max(0, shown.at + READING_MS - Date.now()));
    return () => clearTimeout(timer);
  }, [isConnected, shown, clear]);
  return {
    problem: shown && sentenceOf(shown.error),
    showError: (error) => setShown({ error, at: Date.now() }),
    clear,
  };
}
