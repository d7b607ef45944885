import { Link } from "wouter";
import { Icon } from "./icon.tsx";

/** The link from a session back to the list: an arrow on a phone, a breadcrumb elsewhere. */
export function BackToSessions() {
  return (
    <>
      <Link className="btn quiet icon phone-only" href="/sessions" aria-label="Back">
        <Icon name="back" />
      </Link>
      <div className="crumb desk-only">
        <Link href="/sessions">Sessions</Link>
        <span className="sep">/</span>
      </div>
    </>
  );
}
