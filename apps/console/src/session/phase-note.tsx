import { useEffect, useState } from "react";
import { useHealth } from "../api/context.tsx";
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
  const health = useHealth();
  if (phase === "deleted")
    return (
      <div className="net" role="alert">
        This session was deleted. What is on the page stays until you leave.
      </div>
    );
  // The bar above the page reports a server that does not answer.
  if (phase === "away") return health.isError ? null : <StreamNote />;
  return <WaitsNote id={id} view={view} />;
}

/** The page reports an interrupted stream only after this time, because a reconnect takes less. */
const PATIENCE_MS = 3000;

/** Says that the session's stream is interrupted although the server answers. */
function StreamNote() {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div className="net" role="status">
      The stream of this session is interrupted. It reconnects by itself, and no event is missed.
    </div>
  );
}
