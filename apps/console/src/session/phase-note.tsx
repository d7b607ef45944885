import type { LoadedPhase } from "./live-session.ts";
import type { SessionView } from "./view.ts";
import { WaitsNote } from "./waits-note.tsx";

interface PhaseNoteProps {
  readonly phase: LoadedPhase;
  readonly id: string;
  readonly view: SessionView;
}

/** Says that the session was deleted, that its stream is interrupted, or why its prompt waits. */
export function PhaseNote({ phase, id, view }: PhaseNoteProps) {
  if (phase === "deleted")
    return (
      <div className="net" role="alert">
        This session was deleted. What is on the page stays until you leave.
      </div>
    );
  if (phase === "away")
    return (
      <div className="net" role="status">
        The stream of this session is interrupted. It reconnects by itself, and no event is missed.
      </div>
    );
  return <WaitsNote id={id} view={view} />;
}
