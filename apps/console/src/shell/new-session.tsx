import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { datedNames } from "../api/distinct-names.ts";
import { useAgents, useApi, useChanged } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { messageKey } from "../ui/message-key.ts";

/** The form for a new session: an agent and the first message. Opens the new session. */
export function NewSession({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const agents = useAgents();
  const usable = (agents.data ?? []).filter(({ status }) => status === "active");
  const names = datedNames(usable);
  const prompt = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState("");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const agentId = chosen === "" ? usable[0]?.id : chosen;

  async function start(): Promise<void> {
    if (agentId === undefined || isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      const session = await api.newSession(agentId);
      if (text.trim() !== "")
        await api.say(session.id, {
          content: { text: text.trim() },
          mode: "queue",
          idempotencyKey: messageKey(),
        });
      changed();
      onClose();
      go(`/sessions/${session.id}`);
    } catch (error) {
      setProblem(sentenceOf(error));
      setSending(false);
    }
  }

  return (
    <Dialog open onClose={onClose} className="dialog" initialFocus={prompt} backdrop={<div className="scrim" />}>
      <DialogHeading className="dialog-title">New session</DialogHeading>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label className="stacked">
          <span>Agent</span>
          <select className="select" value={agentId ?? ""} onChange={(event) => setChosen(event.target.value)}>
            {usable.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {visibleLine(names.get(agent.id) ?? agent.name)} · {visibleLine(agent.config.model)}
              </option>
            ))}
          </select>
        </label>
        {agents.data && usable.length === 0 && (
          <p className="muted">There is no agent yet. Create one on Home or on Agents.</p>
        )}
        <label className="stacked">
          <span>Prompt</span>
          <textarea
            className="textarea"
            rows={5}
            ref={prompt}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void start();
            }}
          />
        </label>
        {problem !== undefined && (
          <p role="alert" className="say-failed">
            {problem}
          </p>
        )}
        <div className="form-foot">
          <button className="btn solid" type="submit" disabled={agentId === undefined || isSending}>
            {isSending ? "Starting…" : "Start"}
          </button>
          <button className="btn" type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
