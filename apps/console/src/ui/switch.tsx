interface SwitchProps {
  readonly label: string;
  readonly values: readonly (readonly [value: string, word: string])[];
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
}

/** A few choices beside each other, of which one is taken. */
export function Switch({ label, values, chosen, onChoose }: SwitchProps) {
  return (
    <span className="seg" role="group" aria-label={label}>
      {values.map(([value, word]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {word}
        </button>
      ))}
    </span>
  );
}
