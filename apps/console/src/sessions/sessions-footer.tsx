import { useMemo } from "react";
import type { Session } from "../api/api.ts";
import { grouped, money } from "../ui/amounts.ts";

interface SessionsFooterProps {
  readonly shown: readonly Session[];
  /** How many sessions there are, shown or not. */
  readonly count: number;
}

/** How many sessions are shown, what they cost together, and the keys of the list. */
export function SessionsFooter({ shown, count }: SessionsFooterProps) {
  const spent = useMemo(() => shown.reduce((sum, { cost_micros }) => sum + cost_micros, 0), [shown]);
  return (
    <footer className="statusbar desk-only">
      <span className="num">
        {grouped(shown.length)} of {grouped(count)} sessions
      </span>
      <span className="num">{money(spent)} together</span>
      <span className="grow" />
      <span>
        <kbd>J</kbd> <kbd>K</kbd> move
      </span>
      <span>
        <kbd>↵</kbd> open
      </span>
      <span>
        <kbd>F</kbd> filter
      </span>
    </footer>
  );
}
