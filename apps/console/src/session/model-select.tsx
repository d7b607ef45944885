import type { Model } from "../api/api.ts";
import { shortModel } from "../ui/amounts.ts";

interface ModelSelectProps {
  readonly models: readonly Model[];
  /** The model of the session. It is used if the user chooses no other model. */
  readonly model: string;
  /** The id of the chosen model; empty for the model of the session. */
  readonly value: string;
  readonly onValue: (id: string) => void;
}

/** Chooses the model for one message if the server has several models. */
export function ModelSelect({ models, model, value, onValue }: ModelSelectProps) {
  if (models.length <= 1) return null;
  return (
    <select
      className="select bare desk-only"
      aria-label="Model for this message"
      value={value}
      onChange={(event) => onValue(event.target.value)}
    >
      <option value="">{shortModel(model)}</option>
      {models
        .filter(({ name }) => name !== model)
        .map(({ id, name }) => (
          <option key={id} value={id}>
            {shortModel(name)}
          </option>
        ))}
    </select>
  );
}
