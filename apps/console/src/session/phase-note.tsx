/** How far the log of a shown session is read, and whether more of it can come. */
export type Phase = "loading" | "live" | "away" | "deleted";

/** Says that nothing new comes for now, or ever. */
export function PhaseNote({ phase }: { readonly phase: Phase }) {
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
