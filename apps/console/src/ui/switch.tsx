interface SwitchProps {
  readonly label: string;
  readonly values: readonly (readonly [value: string, word: string])[];
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
  readonly folds?: boolean;
}

/** A segmented control. `folds`: on a phone the control is a menu, so that two controls fit into a line. */
export function Switch({ label, values, chosen, onChoose, folds = false }: SwitchProps) {
  return (
    <>
      {folds && (
        <select
          className="select phone-only"
          aria-label={label}
          value={chosen}
          onChange={({ target }) => onChoose(target.value)}
        >
          {values.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      )}
      <Buttons label={label} values={values} chosen={chosen} onChoose={onChoose} folds={folds} />
    </>
  );
}

function Buttons({ label, values, chosen, onChoose, folds = false }: SwitchProps) {
  return (
    <span className={folds ? "seg desk-only" : "seg"} role="group" aria-label={label}>
      {values.map(([value, word]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {word}
        </button>
      ))}
    </span>
  );
}
