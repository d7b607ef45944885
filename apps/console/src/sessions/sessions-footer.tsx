import { sentenceOf } from "../api/api.ts";
import { grouped } from "../ui/amounts.ts";
import { fullTime } from "../ui/times.ts";
import type { SessionRows } from "./use-session-rows.ts";

/** Shows the number of listed sessions, the progress of the search, and the keys of the list. */
export function SessionsFooter({ rows: { total, isSearching, isReadingHistory, said } }: { rows: SessionRows }) {
  return (
    <footer
      className={`statusbar ${isSearching || isReadingHistory || said.error !== null || said.searchedUntil !== null ? "" : "is-calm"}`}
    >
      <span className="num">
        {total === undefined ? "" : `${grouped(total)} ${total === 1 ? "session" : "sessions"}`}
      </span>
      {isReadingHistory ? (
        <span>Reading the sessions of other agents…</span>
      ) : isSearching ? (
        <span>Searching in messages…</span>
      ) : said.error !== null ? (
        <span className="say-failed cut">Messages cannot be searched: {sentenceOf(said.error)}</span>
      ) : (
        said.searchedUntil !== null && (
          <span>
            Searched back to {fullTime(said.searchedUntil)}.{" "}
            <button type="button" className="link" onClick={said.goOn}>
              Search further back
            </button>
          </span>
        )
      )}
      <span className="grow" />
      <span className="desk-only">
        <kbd>J</kbd> <kbd>K</kbd> move
      </span>
      <span className="desk-only">
        <kbd>↵</kbd> open
      </span>
      <span className="desk-only">
        <kbd>F</kbd> filter
      </span>
    </footer>
  );
}
