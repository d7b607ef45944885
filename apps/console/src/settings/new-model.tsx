import { useState } from "react";
import type { NewModelInput } from "../api/api.ts";

const ADAPTERS: readonly (readonly [value: string, word: string])[] = [
  ["", "As its name says"],
  ["anthropic", "Anthropic Messages"],
  ["openai", "OpenAI Responses"],
  ["openai-compatible", "OpenAI Chat Completions"],
];

/** The form in which a model is added. A name with a known provider needs nothing else: `openrouter/…`, `ollama/…`. */
export function NewModel({ onAdd }: { onAdd: (input: NewModelInput) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const [adapter, setAdapter] = useState("");
  const [url, setUrl] = useState("");
  const [key, setKey] = useState("");
  const add = async (): Promise<void> => {
    const settings = {
      ...(adapter !== "" && { adapter: adapter as "anthropic" }),
      ...(url.trim() !== "" && { url: url.trim() }),
    };
    const isAdded = await onAdd({
      name: name.trim(),
      is_default: false,
      ...(Object.keys(settings).length > 0 && { settings }),
      ...(key.trim() !== "" && { key: key.trim() }),
    });
    // The key is nowhere in the page after it was sent.
    setKey("");
    if (isAdded) [setName, setUrl, setAdapter].forEach((set) => set(""));
  };
  return (
    <form
      className="setform"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <label className="field grow">
        <span className="sr">Name of a model</span>
        <input
          placeholder="claude-sonnet-5-5, ollama/qwen3"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      <select
        className="select"
        aria-label="Its API"
        value={adapter}
        onChange={({ target }) => setAdapter(target.value)}
      >
        {ADAPTERS.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
      <label className="field grow">
        <span className="sr">Its address</span>
        <input placeholder="Address, if it has its own" value={url} onChange={({ target }) => setUrl(target.value)} />
      </label>
      <label className="field">
        <span className="sr">Key of its provider</span>
        <input
          type="password"
          autoComplete="off"
          placeholder="Key, if it needs one"
          value={key}
          onChange={({ target }) => setKey(target.value)}
        />
      </label>
      <button type="submit" className="btn" disabled={name.trim() === ""}>
        Add
      </button>
    </form>
  );
}
