import type { LoadedPhase } from "./live-session.ts";

/** Says that the session was deleted, or that its stream is interrupted. */
export function PhaseNote({ phase }: { readonly phase: LoadedPhase }) {
  if (phase === "deleted")
    return (
      <div className="net" role="alert">
        This session was deleted. What is on the page stays until you leave.
      </div>
    );
  if (phase === "away")
    return (
      <div className="net" role="status">
        The stream of this session is interrupted. It goes on by itself, without a gap.
      </div>
    );
  return null;
}
