import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useState } from "react";
import { type Agent, type AgentChange, sentenceOf } from "../api/api.ts";
import { useModels } from "../api/context.tsx";

interface AgentFormProps {
  readonly title: string;
  readonly agent?: Agent;
  /** Saves, and closes the form or leaves its page. */
  readonly onSave: (values: AgentChange) => Promise<void>;
  readonly onClose: () => void;
}

/** Makes or changes an agent. A change makes a version; sessions keep the one they began with. */
export function AgentForm({ title, agent, onSave, onClose }: AgentFormProps) {
  const models = useModels();
  const config = agent?.config;
  const [values, setValues] = useState({
    name: agent?.name ?? "",
    description: agent?.description ?? "",
    system_prompt: agent?.system_prompt ?? "",
    model: config?.model ?? "",
    max_steps: String(config?.max_steps ?? 50),
    max_tokens: String(config?.max_tokens ?? 2048),
    thinking_tokens: String(config?.thinking_tokens ?? 0),
    budget: config?.max_cost_micros == null ? "" : String(config.max_cost_micros / 1e6),
    tools: (config?.tool_schemas ?? [])
      .map(({ name }) => name)
      .filter((name) => !frontendNames(agent).includes(name))
      .join(", "),
    generate_title: config?.generate_title ?? true,
  });
  const [problem, setProblem] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const set = (name: keyof typeof values) => (event: { target: { value: string } }) =>
    setValues({ ...values, [name]: event.target.value });

  async function save(): Promise<void> {
    setSaving(true);
    setProblem(undefined);
    try {
      const tools = values.tools
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "");
      await onSave({
        name: values.name.trim(),
        description: values.description.trim() === "" ? null : values.description.trim(),
        system_prompt: values.system_prompt,
        ...(values.model.trim() !== "" && values.model.trim() !== config?.model && { model: values.model.trim() }),
        max_steps: Number(values.max_steps),
        max_tokens: Number(values.max_tokens),
        thinking_tokens: Number(values.thinking_tokens),
        max_cost_micros: values.budget.trim() === "" ? null : Math.round(Number(values.budget) * 1e6),
        generate_title: values.generate_title,
        ...(tools.join() !==
          (config?.tool_schemas ?? [])
            .map(({ name }) => name)
            .filter((name) => !frontendNames(agent).includes(name))
            .join() && { tools }),
      });
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
          <Field label="Name">
            <input className="input" required autoFocus value={values.name} onChange={set("name")} />
          </Field>
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
        <Field label="Description">
          <input className="input" value={values.description} onChange={set("description")} />
        </Field>
        <Field label="System prompt">
          <textarea className="textarea mono" rows={8} value={values.system_prompt} onChange={set("system_prompt")} />
        </Field>
        <Field label="Tools of the server, by name, with commas">
          <input className="input" value={values.tools} onChange={set("tools")} />
        </Field>
        <div className="form-four">
          <Field label="Most steps">
            <input
              className="input"
              type="number"
              min={1}
              max={1000}
              value={values.max_steps}
              onChange={set("max_steps")}
            />
          </Field>
          <Field label="Most output tokens">
            <input className="input" type="number" min={1} value={values.max_tokens} onChange={set("max_tokens")} />
          </Field>
          <Field label="Thinking tokens">
            <input
              className="input"
              type="number"
              min={0}
              value={values.thinking_tokens}
              onChange={set("thinking_tokens")}
            />
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
        <label className="check">
          <input
            type="checkbox"
            checked={values.generate_title}
            onChange={(event) => setValues({ ...values, generate_title: event.target.checked })}
          />
          Have the model write a title after the first answer. It is a call of its own.
        </label>
        {problem !== undefined && (
          <p role="alert" className="say-failed">
            {problem}
          </p>
        )}
        <div className="form-foot">
          <button type="submit" className="btn solid" disabled={isSaving || values.name.trim() === ""}>
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

function frontendNames(agent: Agent | undefined): readonly string[] {
  const names = agent?.config.extras["frontend_tools"];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

function Field({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <label className="stacked">
      <span>{label}</span>
      {children}
    </label>
  );
}
