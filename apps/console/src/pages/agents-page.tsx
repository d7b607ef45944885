import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { aboutAgent } from "../agents/about-agent.ts";
import { missingSentence, useMissingTools } from "../agents/missing-tools.ts";
import { AgentForm } from "../agents/agent-form.tsx";
import { sentenceOf } from "../api/api.ts";
import { useAgents, useApi } from "../api/context.tsx";
import { distinctNames } from "../api/distinct-names.ts";
import { visibleLine } from "../text/safe-text.ts";
import { plural, shortModel } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { when } from "../ui/times.ts";
import { useQueryValue } from "../ui/use-query-value.ts";
import { usePageTitle } from "../ui/use-page-title.ts";

/** The agents with their description, model, number of tools and version. */
export function AgentsPage() {
  usePageTitle("Agents");
  const api = useApi();
  const queries = useQueryClient();
  const agents = useAgents();
  const missingOf = useMissingTools();
  const names = distinctNames(agents.data ?? []);
  const [, go] = useLocation();
  const [isNew, setNew] = useQueryValue("new");
  const [withArchived, setArchived] = useState(false);
  const archived = (agents.data ?? []).filter(({ status }) => status === "archived").length;
  const shown = (agents.data ?? []).filter(({ status }) => withArchived || status === "active");
  return (
    <>
      <header className="top">
        <h1>Agents</h1>
        <span className="faint num">{agents.data ? shown.length : ""}</span>
        <span className="grow" />
        {archived > 0 && (
          <button
            type="button"
            className="btn quiet"
            aria-pressed={withArchived}
            onClick={() => setArchived(!withArchived)}
          >
            {withArchived ? "Hide archived" : `Show ${archived} archived`}
          </button>
        )}
        <button type="button" className="btn solid" onClick={() => setNew("1")}>
          <Icon name="plus" small />
          New agent
        </button>
      </header>
      <div className="scroll">
        {agents.isLoading ? (
          <LoadingRows />
        ) : agents.isError ? (
          <Nothing title="The agents cannot be listed" state="failed">
            {sentenceOf(agents.error)}
          </Nothing>
        ) : shown.length === 0 ? (
          <Nothing title="There is no agent yet" state="idle">
            <p>An agent is a prompt, a model and tools. A session is opened with an agent.</p>
            <button type="button" className="btn" onClick={() => setNew("1")}>
              Make the first
            </button>
          </Nothing>
        ) : (
          <div className="page">
            <ul className="cards">
              {shown.map((agent) => (
                <li key={agent.id} className="card agent">
                  <div className="agent-h">
                    <Icon name="agents" />
                    <Link href={`/agents/${agent.id}`} className="strong cut agent-link">
                      {visibleLine(names.get(agent.id) ?? agent.name)}
                    </Link>
                    {agent.status === "archived" && <span className="chip">archived</span>}
                    <MissingChip missing={missingOf(agent)} />
                  </div>
                  <p className="muted agent-about">{aboutAgent(agent)}</p>
                  <div className="meta">
                    <span>{shortModel(visibleLine(agent.config.model))}</span>
                    <span>{plural(agent.config.tool_schemas.length, "tool")}</span>
                    <span>version {agent.version}</span>
                    <span>{when(agent.updated_at)}</span>
                  </div>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {isNew !== null && (
        <AgentForm
          title="New agent"
          onClose={() => setNew(null)}
          onSave={async (values) => {
            const agent = await api.createAgent({ ...values, name: values.name ?? "" });
            await queries.invalidateQueries({ queryKey: ["agents"] });
            go(`/agents/${agent.id}`);
          }}
        />
      )}
    </>
  );
}

/** Marks an agent whose tools this server does not have. */
function MissingChip({ missing }: { missing: readonly string[] }) {
  if (missing.length === 0) return null;
  return (
    <span className="chip waiting" title={missingSentence(missing)}>
      {missing.length === 1 ? "tool missing" : "tools missing"}
    </span>
  );
}
