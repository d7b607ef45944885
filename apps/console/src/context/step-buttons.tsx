import { Icon } from "../ui/icon.tsx";

interface StepButtonsProps {
  /** The place of the shown step in the list, from 0. */
  readonly at: number;
  readonly count: number;
  readonly onStep: (at: number) => void;
}

/** Goes to the step before or after, and says which one is shown. */
export function StepButtons({ at, count, onStep }: StepButtonsProps) {
  return (
    <>
      <button
        type="button"
        className="btn icon"
        aria-label="The step before"
        disabled={at <= 0}
        onClick={() => onStep(at - 1)}
      >
        <Icon name="back" small />
      </button>
      <span className="num">
        Step {at + 1} of {count}
      </span>
      <button
        type="button"
        className="btn icon"
        aria-label="The step after"
        disabled={at >= count - 1}
        onClick={() => onStep(at + 1)}
      >
        <Icon name="back" small className="flip" />
      </button>
    </>
  );
}
