interface ProblemBarProps {
  readonly problem: string | undefined;
  readonly onClose: () => void;
}

/** Says at the top of a page what failed, until it is closed. */
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
