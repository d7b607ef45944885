import { grouped } from "../ui/amounts.ts";

/** How many sessions are listed, and the keys of the list. */
export function SessionsFooter({ count, isSearching }: { count: number | undefined; isSearching: boolean }) {
  return (
    <footer className="statusbar desk-only">
      <span className="num">
        {count === undefined ? "" : `${grouped(count)} ${count === 1 ? "session" : "sessions"}`}
      </span>
      {isSearching && <span>Searching in what was said…</span>}
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
