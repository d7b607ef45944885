import { useState } from "react";
import type { NewModelInput } from "../api/api.ts";
import { Field } from "../ui/field.tsx";

const ADAPTERS: readonly (readonly [value: string, word: string])[] = [
  ["", "By the model's name"],
  ["anthropic", "Anthropic Messages"],
  ["openai", "OpenAI Responses"],
  ["openai-compatible", "OpenAI Chat Completions"],
];

/**
 * Parses the abilities that the model lacks, such as `images, parallel tools`. The server rejects names that it does
 * not know.
 */
function lackedIn(names: string): Record<string, false> {
  const each = names.split(",").map((name) => name.trim().toLowerCase().replaceAll(" ", "_"));
  return Object.fromEntries(each.filter((name) => name !== "").map((name) => [name, false]));
}

/**
 * The form for a new model. If its name begins with a known provider (`openrouter/…`), all other fields are optional.
 */
export function NewModel({ onAdd }: { onAdd: (input: NewModelInput) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const [adapter, setAdapter] = useState("");
  const [url, setUrl] = useState("");
  const [key, setKey] = useState("");
  const [lacks, setLacks] = useState("");
  const add = async (): Promise<void> => {
    const settings = {
      ...(adapter !== "" && { adapter: adapter as "anthropic" }),
      ...(url.trim() !== "" && { url: url.trim() }),
      ...(lacks.trim() !== "" && { abilities: lackedIn(lacks) }),
    };
    const isAdded = await onAdd({
      name: name.trim(),
      is_default: false,
      ...(Object.keys(settings).length > 0 && { settings }),
      ...(key.trim() !== "" && { key: key.trim() }),
    });
    // The key is removed from the page after it was sent.
    setKey("");
    if (isAdded) [setName, setUrl, setAdapter, setLacks].forEach((set) => set(""));
  };
  return (
    <form
      className="setform fields"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <Field label="Name of a model">
        <input
          className="input"
          placeholder="ollama/qwen3"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      <Field label="API of the model">
        <select className="select" value={adapter} onChange={({ target }) => setAdapter(target.value)}>
          {ADAPTERS.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Address of the API">
        <input className="input" placeholder="optional" value={url} onChange={({ target }) => setUrl(target.value)} />
      </Field>
      <Field label="Key of the provider">
        <input
          className="input"
          type="password"
          autoComplete="off"
          placeholder="optional"
          value={key}
          onChange={({ target }) => setKey(target.value)}
        />
      </Field>
      <Field label="Missing abilities">
        <input
          className="input"
          placeholder="images, caching"
          value={lacks}
          onChange={({ target }) => setLacks(target.value)}
        />
      </Field>
      <button type="submit" className="btn" disabled={name.trim() === ""}>
        Add
      </button>
    </form>
  );
}
