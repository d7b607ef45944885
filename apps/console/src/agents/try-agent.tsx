import { useState } from "react";
import { useLocation } from "wouter";
import type { Agent } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import { messageKey } from "../ui/message-key.ts";
import { MissingNote } from "./missing-note.tsx";

/** Runs a request, and shows its error on the page if it fails. */
export type Attempt = (work: () => Promise<unknown>) => Promise<void>;

interface TryAgentProps {
  readonly agent: Agent;
  readonly attempt: Attempt;
}

/** Starts a session with an agent by writing its first message. */
export function TryAgent({ agent, attempt }: TryAgentProps) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const tryIt = (): Promise<void> =>
    attempt(async () => {
      const session = await api.newSession(agent.id);
      await api.say(session.id, { content: { text: text.trim() }, mode: "queue", idempotencyKey: messageKey() });
      changed();
      go(`/sessions/${session.id}`);
    });

  return (
    <form
      className="card pad form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") void tryIt();
      }}
    >
      <MissingNote agent={agent} />
      <label className="stacked">
        <span>Try it</span>
        <textarea
          className="textarea"
          rows={2}
          placeholder={`Write to ${agent.name}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <div className="form-foot">
        <button type="submit" className="btn" disabled={text.trim() === ""}>
          Start a session
        </button>
      </div>
    </form>
  );
}
