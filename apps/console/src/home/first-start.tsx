import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Agent, NewAgent } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import { useProblem } from "../api/use-problem.ts";
import { messageKey } from "../ui/message-key.ts";
import { DEMO_TOOL, isDemo } from "./demo.ts";

const HELPER: NewAgent = {
  name: "Helper",
  description: "Answers questions.",
  system_prompt: "Be brief and plain.",
  generate_title: true,
};
const DEMO: NewAgent = {
  name: "Demo",
  description: "Shows an approval. Its only tool moves no money. Archive this agent when you have seen it.",
  system_prompt: "Refund what you are asked to refund.",
  tools: [DEMO_TOOL],
  tags: ["demo"],
};

/** The first page for a new user: one prompt, one button, and a run that can be watched within seconds. */
export function FirstStart({ agents, isSimulated }: { agents: readonly Agent[]; isSimulated: boolean }) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const known = agents.find(({ status }) => status === "active");
  const withDemo = isSimulated && (!known || isDemo(known));
  const made = withDemo ? DEMO : HELPER;
  const [text, setText] = useState(withDemo ? "Refund order A17, amount 25" : "How much is 19 * 23?");
  const { problem, showError } = useProblem();
  const [isStarting, setStarting] = useState(false);

  async function start(): Promise<void> {
    setStarting(true);
    try {
      const agent = known ?? (await api.createAgent(made));
      const session = await api.newSession(agent.id);
      await api.say(session.id, { content: { text }, mode: "queue", idempotencyKey: messageKey() });
      changed();
      go(`/sessions/${session.id}`);
    } catch (error) {
      showError(error);
      setStarting(false);
    }
  }

  return (
    <form
      className="card pad form first"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <h2 className="dialog-title">{withDemo ? "Try the demo" : "Start your first session"}</h2>
      {withDemo && (
        <p className="muted">
          The agent calls a tool, waits until you approve the call, and goes on. The tool only pretends: it moves no
          money.
        </p>
      )}
      <p className="muted">
        {isSimulated ? (
          <>
            Without a key of your own the model is a simulation: its answers are made up and cost nothing. Set{" "}
            <code>ANTHROPIC_API_KEY</code> and restart the server to use the real model.
          </>
        ) : (
          "An agent is a prompt, a model and tools. The button below creates an agent and sends it the prompt. The real model answers."
        )}
      </p>
      <label className="stacked">
        <span>Prompt</span>
        <input className="input" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      {problem !== undefined && (
        <p role="alert" className="say-failed">
          {problem}
        </p>
      )}
      <div className="form-foot">
        <button type="submit" className="btn solid" disabled={isStarting || text.trim() === ""}>
          {isStarting ? "Starting…" : known ? `Run with ${known.name}` : `Create ${made.name} and run`}
        </button>
        <Link className="btn" href="/agents?new=1">
          Make an agent of your own
        </Link>
      </div>
    </form>
  );
}
