import { Field } from "../ui/field.tsx";
import type { FormValues } from "./form-values.ts";

/** Returns an event handler that writes the typed text into one value of the form. */
export type SetValue = (name: keyof FormValues) => (event: { target: { value: string } }) => void;

interface LimitFieldsProps {
  readonly values: FormValues;
  readonly set: SetValue;
}

/** The limits of the agent's sessions: steps, tokens, money, and the time that the provider caches the prompt. */
export function LimitFields({ values, set }: LimitFieldsProps) {
  return (
    <div className="form-four">
      <Field label="Max. steps of a run">
        <input
          className="input"
          type="number"
          min={1}
          max={1000}
          value={values.max_steps}
          onChange={set("max_steps")}
        />
      </Field>
      <Field label="Max. tokens of an answer">
        <input className="input" type="number" min={1} value={values.max_tokens} onChange={set("max_tokens")} />
      </Field>
      <Field label="Max. tokens to think">
        <input
          className="input"
          type="number"
          min={0}
          value={values.thinking_tokens}
          onChange={set("thinking_tokens")}
        />
      </Field>
      <Field label="Provider caches the prompt">
        <select className="select" value={values.cache} onChange={set("cache")}>
          <option value="off">no</option>
          <option value="short">for minutes</option>
          <option value="long">for hours</option>
        </select>
      </Field>
      <Field label="Budget of a session, $">
        <input
          className="input"
          type="number"
          min={0}
          step="0.01"
          placeholder="none"
          value={values.budget}
          onChange={set("budget")}
        />
      </Field>
    </div>
  );
}
