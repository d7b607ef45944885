import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";

/** The tools that an agent can call, with their descriptions. */
export function AgentTools({ tools }: { readonly tools: Agent["config"]["tool_schemas"] }) {
  return (
    <section>
      <div className="h">
        <h2>Tools</h2> <span className="n">{tools.length}</span>
      </div>
      {tools.length === 0 ? (
        <p className="lbl">No tools: this agent only writes text.</p>
      ) : (
        <ul className="card lastlist">
          {tools.map(({ name, description }) => (
            <li key={name} className="toolrow">
              <code>{visibleLine(name)}</code>
              <span className="muted">{visibleLine(description)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
