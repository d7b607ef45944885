import { Icon } from "./icon.tsx";

interface BeforeAfterProps {
  /** The name of the items: "step", "event". */
  readonly noun: string;
  readonly at: number;
  readonly first: number;
  readonly last: number;
  readonly onGo: (at: number) => void;
  readonly children?: React.ReactNode;
}

/** Buttons for the previous and next item, with a label between them. */
export function BeforeAfter({ noun, at, first, last, onGo, children }: BeforeAfterProps) {
  return (
    <>
      <button
        type="button"
        className="btn icon"
        aria-label={`The ${noun} before`}
        disabled={at <= first}
        onClick={() => onGo(at - 1)}
      >
        <Icon name="back" small />
      </button>
      {children}
      <button
        type="button"
        className="btn icon"
        aria-label={`The ${noun} after`}
        disabled={at >= last}
        onClick={() => onGo(at + 1)}
      >
        <Icon name="back" small className="flip" />
      </button>
    </>
  );
}
