import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { priceCall } from "@skein/protocol";
import { useId, useState } from "react";
import { type Agent, type AgentChange, sentenceOf } from "../api/api.ts";
import { useModels } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { Field } from "../ui/field.tsx";
import { changeOf, valuesOf } from "./form-values.ts";
import { ToolChoice } from "./tool-choice.tsx";
import { LimitFields, type SetValue } from "./limit-fields.tsx";

interface AgentFormProps {
  readonly title: string;
  readonly agent?: Agent;
  /** Saves the values, and then closes the form or leaves its page. */
  readonly onSave: (values: AgentChange) => Promise<void>;
  readonly onClose: () => void;
}

/** Creates or changes an agent. A change creates a new version. Existing sessions keep their version. */
export function AgentForm({ title, agent, onSave, onClose }: AgentFormProps) {
  const models = useModels();
  const [values, setValues] = useState(() => valuesOf(agent));
  const [problem, setProblem] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const set: SetValue = (name) => (event) => setValues({ ...values, [name]: event.target.value });

  async function save(): Promise<void> {
    setSaving(true);
    setProblem(undefined);
    try {
      await onSave(changeOf(values, agent));
    } catch (error) {
      setProblem(sentenceOf(error));
      setSaving(false);
    }
  }

  return (
    <Dialog open onClose={onClose} className="dialog wide" backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">{title}</DialogHeading>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="form-two">
          <NameField value={values.name} onChange={set("name")} />
          <Field label="Model">
            <input
              className="input"
              list="models"
              placeholder="The default"
              value={values.model}
              onChange={set("model")}
            />
          </Field>
        </div>
        <datalist id="models">
          {(models.data ?? []).map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
        </datalist>
        <UnknownModel name={values.model.trim()} known={models.data} />
        <Field label="Description">
          <input className="input" value={values.description} onChange={set("description")} />
        </Field>
        <Field label="System prompt">
          <textarea className="textarea mono" rows={8} value={values.system_prompt} onChange={set("system_prompt")} />
        </Field>
        <ToolChoice value={values.tools} onValue={(tools) => setValues({ ...values, tools })} />
        <LimitFields values={values} set={set} />
        <label className="check">
          <input
            type="checkbox"
            checked={values.generate_title}
            onChange={(event) => setValues({ ...values, generate_title: event.target.checked })}
          />
          Let the model write a title after the first answer (one more model call).
        </label>
        {problem !== undefined && (
          <p role="alert" className="say-failed">
            {problem}
          </p>
        )}
        <div className="form-foot">
          <button type="submit" className="btn solid" disabled={isSaving}>
            {isSaving ? "Saving…" : agent ? "Save as a new version" : "Make agent"}
          </button>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface NameFieldProps {
  readonly value: string;
  readonly onChange: ReturnType<SetValue>;
}

/** The name of the agent. If it is missing when the form is sent, the field says so. */
function NameField({ value, onChange }: NameFieldProps) {
  const [wasMissing, setMissing] = useState(false);
  const problemId = useId();
  const isMissing = wasMissing && value.trim() === "";
  return (
    <div className="stacked">
      <Field label="Name">
        <input
          className="input"
          required
          pattern=".*\S.*"
          autoFocus
          aria-invalid={isMissing}
          aria-describedby={isMissing ? problemId : undefined}
          value={value}
          onChange={onChange}
          onInvalid={(event) => {
            event.preventDefault();
            event.currentTarget.focus();
            setMissing(true);
          }}
        />
      </Field>
      {isMissing && (
        <p id={problemId} role="alert" className="say-failed">
          Write a name for the agent.
        </p>
      )}
    </div>
  );
}

interface UnknownModelProps {
  readonly name: string;
  readonly known: readonly { readonly name: string }[] | undefined;
}

/** Says that the typed model is neither listed nor a known model of Claude. Models of other providers have a prefix. */
function UnknownModel({ name, known }: UnknownModelProps) {
  const isKnown = name === "" || known === undefined || known.some((model) => model.name === name);
  if (isKnown || name.includes("/") || priceCall(name, { input_tokens: 1, output_tokens: 1 }) !== undefined)
    return null;
  return (
    <p className="lbl" role="status">
      Skein does not know the model {visibleLine(name)}. If Claude’s API does not know this name either, the agent’s
      runs fail.
    </p>
  );
}
