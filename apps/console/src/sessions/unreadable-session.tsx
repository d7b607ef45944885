import { Link } from "wouter";
import { isMissing, sentenceOf } from "../api/api.ts";
import { Nothing } from "../ui/empty-state.tsx";

/** Says why a session is not shown: it does not exist, or it cannot be read. */
export function UnreadableSession({ error, whyGone }: { readonly error: unknown; readonly whyGone: string }) {
  const isGone = isMissing(error);
  return (
    <Nothing title={isGone ? "There is no such session" : "This session cannot be read"} state="failed">
      <p>{isGone ? whyGone : sentenceOf(error)}</p>
      <Link className="btn" href="/sessions">
        All sessions
      </Link>
    </Nothing>
  );
}
