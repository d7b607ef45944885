interface ProblemBarProps {
  readonly problem: string | undefined;
  readonly onClose: () => void;
}

/** An error message at the top of a page, until it is closed. */
export function ProblemBar({ problem, onClose }: ProblemBarProps) {
  if (problem === undefined) return null;
  return (
    <div className="net failed-bar" role="alert">
      <span className="grow">{problem}</span>
      <button type="button" className="btn" onClick={onClose}>
        Close
      </button>
    </div>
  );
}
