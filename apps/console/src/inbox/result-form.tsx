import { useState } from "react";
import { InputView } from "../session/call-view.tsx";
import { visible } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import type { Answer, AwaitCardData } from "./await-card-data.ts";

/** Shows the input of a frontend tool's call, and takes the result that a person types. */
export function ResultForm({
  wait,
  isSending,
  onAnswer,
}: {
  wait: AwaitCardData;
  isSending: boolean;
  onAnswer: Answer;
}) {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ content: text });
      }}
    >
      <div className="ask-b">
        <div className="code ask-what">
          <div className="code-h">
            <Icon name="tool" small />
            <code>{visible(wait.name)}</code>
          </div>
          <InputView call={wait} isWhole />
        </div>
        <label className="stacked">
          <span>Its result</span>
          <textarea className="textarea mono" rows={2} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      </div>
      <div className="ask-f">
        <button type="submit" className="btn solid" disabled={isSending || text.trim() === ""}>
          {isSending ? "Sending…" : "Send the result"}
        </button>
        <button
          type="button"
          className="btn"
          disabled={isSending}
          onClick={() => onAnswer({ content: text.trim() === "" ? "The tool failed." : text.trim(), isError: true })}
        >
          It failed
        </button>
      </div>
    </form>
  );
}
