import type { Waiting } from "../api/api.ts";
import { Inbox } from "../inbox/lazy-inbox.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { NoticesLink } from "./notices-link.tsx";

interface WaitsForYouProps {
  readonly waiting: readonly Waiting[];
  readonly isLoading: boolean;
}

/** The questions, approvals and frontend tools of all sessions that wait for an answer, with a form to answer each. */
export function WaitsForYou({ waiting, isLoading }: WaitsForYouProps) {
  return (
    <section className="o1">
      <div className="h">
        <h2>Waits for you</h2>
        {waiting.length > 0 && <span className="count">{waiting.length}</span>}
        {waiting.length > 1 && (
          <span className="end desk-only">
            <kbd>J</kbd> <kbd>K</kbd> to move, oldest first
          </span>
        )}
      </div>
      {isLoading ? (
        <LoadingRows rows={3} />
      ) : waiting.length > 0 ? (
        <Inbox awaits={waiting} />
      ) : (
        <div className="card">
          <Nothing title="Nothing waits for you">
            Questions and approvals of all sessions come here. <NoticesLink />
          </Nothing>
        </div>
      )}
    </section>
  );
}
