import type { Sent } from "../api/api.ts";

interface AttemptSwitchProps {
  readonly attempts: readonly Sent[];
  readonly shown: Sent | undefined;
  readonly onAttempt: (attempt: number) => void;
}

/** Chooses among the attempts at a step, if the model was called more than once. */
export function AttemptSwitch({ attempts, shown, onAttempt }: AttemptSwitchProps) {
  if (attempts.length < 2) return null;
  return (
    <span className="seg" role="group" aria-label="Attempt">
      {attempts.map(({ attempt }) => (
        <button
          key={attempt}
          type="button"
          aria-pressed={attempt === shown?.attempt}
          aria-label={`Attempt ${attempt} of ${attempts.length}`}
          onClick={() => onAttempt(attempt)}
        >
          {attempt}
        </button>
      ))}
    </span>
  );
}
