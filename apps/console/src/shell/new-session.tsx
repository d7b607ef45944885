import { Dialog, DialogHeading } from "@ariakit/react/dialog";
import { useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { aboutAgent } from "../agents/about-agent.ts";
import { MissingNote } from "../agents/missing-note.tsx";
import type { Agent } from "../api/api.ts";
import { datedNames } from "../api/distinct-names.ts";
import { useAgents, useApi, useChanged } from "../api/context.tsx";
import { useProblem } from "../api/use-problem.ts";
import { visibleLine } from "../text/safe-text.ts";
import { messageKey } from "../ui/message-key.ts";

/** The form for a new session: an agent and the first message. Opens the new session. */
export function NewSession({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const agents = useAgents();
  const usable = (agents.data ?? []).filter(({ status }) => status === "active");
  const prompt = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState("");
  const [text, setText] = useState("");
  const { problem, showError, clear } = useProblem();
  const [isMissing, setMissing] = useState(false);
  const missingId = useId();
  const [isSending, setSending] = useState(false);
  const agent = usable.find(({ id }) => id === chosen) ?? usable[0];

  async function start(): Promise<void> {
    if (agent === undefined || isSending) return;
    if (text.trim() === "") {
      setMissing(true);
      prompt.current?.focus();
      return;
    }
    setSending(true);
    clear();
    try {
      const session = await api.newSession(agent.id);
      await api.say(session.id, { content: { text: text.trim() }, mode: "queue", idempotencyKey: messageKey() });
      changed();
      onClose();
      go(`/sessions/${session.id}`);
    } catch (error) {
      showError(error);
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
        <AgentChoice agents={usable} agent={agent} onChoose={setChosen} />
        {agents.data && usable.length === 0 && (
          <p className="muted">There is no agent yet. Create one on Home or on Agents.</p>
        )}
        <div className="stacked">
          <label className="stacked">
            <span>Prompt</span>
            <textarea
              className="textarea"
              rows={5}
              ref={prompt}
              value={text}
              aria-invalid={isMissing}
              aria-describedby={isMissing ? missingId : undefined}
              onChange={(event) => {
                setText(event.target.value);
                setMissing(false);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void start();
              }}
            />
          </label>
          {isMissing && (
            <p id={missingId} role="alert" className="say-failed">
              Write a prompt. The session starts with it.
            </p>
          )}
        </div>
        {problem !== undefined && (
          <p role="alert" className="say-failed">
            {problem}
          </p>
        )}
        <div className="form-foot">
          <button className="btn solid" type="submit" disabled={agent === undefined || isSending}>
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

interface AgentChoiceProps {
  readonly agents: readonly Agent[];
  readonly agent: Agent | undefined;
  readonly onChoose: (id: string) => void;
}

/** The agent of the session, and what this agent is for. */
function AgentChoice({ agents, agent, onChoose }: AgentChoiceProps) {
  const names = datedNames(agents);
  const aboutId = useId();
  return (
    <div className="stacked">
      <label className="stacked">
        <span>Agent</span>
        <select
          className="select"
          value={agent?.id ?? ""}
          aria-describedby={aboutId}
          onChange={(event) => onChoose(event.target.value)}
        >
          {agents.map(({ id, name, config }) => (
            <option key={id} value={id}>
              {visibleLine(names.get(id) ?? name)} · {visibleLine(config.model)}
            </option>
          ))}
        </select>
      </label>
      {agent && (
        <p id={aboutId} className="muted agent-about">
          {aboutAgent(agent)} {toolsOf(agent)}
        </p>
      )}
      {agent && <MissingNote agent={agent} />}
    </div>
  );
}

/** Which tools the agent has. */
function toolsOf({ config: { tool_schemas: tools } }: Agent): string {
  return tools.length === 0 ? "" : `Tools: ${tools.map(({ name }) => visibleLine(name)).join(", ")}.`;
}
