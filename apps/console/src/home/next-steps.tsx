import { Link } from "wouter";
import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";

/** What to do after the demo: an agent of one's own, a real model, the API. */
export function NextSteps({ demo, isSimulated }: { demo: Agent; isSimulated: boolean }) {
  return (
    <section className="card pad form first">
      <h2 className="dialog-title">After the demo</h2>
      <p className="muted">
        An agent is a prompt, a model and tools. Make one of your own, and start sessions with it on this page. When you
        have seen enough of the demo, archive{" "}
        <Link className="link" href={`/agents/${demo.id}`}>
          {visibleLine(demo.name)}
        </Link>
        . Programs use the same server: see the{" "}
        <a className="link" href="/docs">
          HTTP API
        </a>
        .
      </p>
      {isSimulated && (
        <p className="muted">
          The answers are still simulated. Set <code>ANTHROPIC_API_KEY</code> and restart the server, or add a model of
          another provider.
        </p>
      )}
      <div className="form-foot">
        <Link className="btn solid" href="/agents?new=1">
          Make an agent of your own
        </Link>
        {isSimulated && (
          <Link className="btn" href="/settings/models">
            Add a model
          </Link>
        )}
      </div>
    </section>
  );
}
