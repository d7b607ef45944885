import { useState } from "react";
import { visible } from "../text/safe-text.ts";
import type { Answer } from "./await-card-data.ts";

interface ChangeInputProps {
  readonly input: unknown;
  readonly isSending: boolean;
  readonly onAnswer: Answer;
  readonly onBack: () => void;
}

/**
 * Approves a call with a changed input. The form has one field for each value. Text values are edited as text, and
 * other values as JSON.
 */
export function ChangeInput({ input, isSending, onAnswer, onBack }: ChangeInputProps) {
  const values = Object.entries((input ?? {}) as Record<string, unknown>);
  const [texts, setTexts] = useState(() => Object.fromEntries(values.map(([name, value]) => [name, textFor(value)])));
  const [problem, setProblem] = useState<string>();
  const isChanged = values.some(([name, value]) => texts[name] !== textFor(value));
  const send = (): void => {
    if (!isChanged) return onAnswer({ content: "yes" });
    try {
      const changed = values.map(([name, value]) => [name, valueOf(name, texts[name] ?? "", value)]);
      onAnswer({ content: "yes", updatedInput: Object.fromEntries(changed) as Record<string, unknown> });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="ask-b">
        {values.map(([name], at) => (
          <label key={name} className="stacked">
            <span>{visible(name)}</span>
            <textarea
              className="textarea mono"
              autoFocus={at === 0}
              spellCheck={false}
              rows={Math.min(12, (texts[name] ?? "").split("\n").length)}
              value={texts[name]}
              onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
            />
          </label>
        ))}
        {problem !== undefined && (
          <p role="alert" className="say-failed">
            {problem}
          </p>
        )}
        <p className="lbl">The model is told that the input was changed.</p>
      </div>
      <div className="ask-f">
        <button type="submit" className="btn solid" disabled={isSending}>
          {isSending ? "Sending…" : isChanged ? "Approve the changed call" : "Approve without a change"}
        </button>
        <button type="button" className="btn quiet" onClick={onBack}>
          Back
        </button>
      </div>
    </form>
  );
}

function textFor(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function valueOf(name: string, text: string, before: unknown): unknown {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`${name}: Enter JSON here, such as ${JSON.stringify(before).slice(0, 60)}.`);
  }
}
