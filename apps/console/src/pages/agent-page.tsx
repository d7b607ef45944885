import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { AgentFacts } from "../agents/agent-facts.tsx";
import { AgentForm } from "../agents/agent-form.tsx";
import { AgentTools } from "../agents/agent-tools.tsx";
import { AgentVersions } from "../agents/agent-versions.tsx";
import { SessionsOfAgent } from "../agents/sessions-of-agent.tsx";
import { type Attempt, TryAgent } from "../agents/try-agent.tsx";
import { useDistinctName } from "../api/agent-names.ts";
import { type Agent, isMissing, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { Markdown } from "../text/markdown.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";

/** One agent with its settings, its versions, its sessions, and a form to try it. */
export function AgentPage({ id }: { id: string }) {
  const api = useApi();
  const agent = useQuery({ queryKey: ["agents", id], queryFn: () => api.agent(id) });
  if (agent.isLoading) return <LoadingRows />;
  if (!agent.data)
    return (
      <Nothing title={isMissing(agent.error) ? "There is no such agent" : "The agent cannot be shown"} state="failed">
        <p>{isMissing(agent.error) ? "The link may be from another server." : sentenceOf(agent.error)}</p>
        <Link className="btn" href="/agents">
          All agents
        </Link>
      </Nothing>
    );
  return <Loaded agent={agent.data} />;
}

function Loaded({ agent }: { agent: Agent }) {
  const name = useDistinctName()(agent.id, agent.name);
  usePageTitle(name);
  const api = useApi();
  const queries = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const [problem, setProblem] = useState<string>();
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ["agents"] });
  const attempt: Attempt = async (work) => {
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };

  return (
    <>
      <header className="top">
        <div className="crumb">
          <Link href="/agents">Agents</Link>
          <span className="sep">/</span>
        </div>
        <h1 className="cut">{visibleLine(name)}</h1>
        <span className="chip">version {agent.version}</span>
        {agent.status === "archived" && <span className="chip">archived</span>}
        <span className="grow" />
        {agent.status === "active" && (
          <button
            type="button"
            className="btn desk-only"
            onClick={() =>
              void attempt(async () => {
                await api.archiveAgent(agent.id);
                await refresh();
              })
            }
          >
            Archive
          </button>
        )}
        {agent.status === "archived" && (
          <button
            type="button"
            className="btn"
            onClick={() =>
              void attempt(async () => {
                await api.restoreAgent(agent.id);
                await refresh();
              })
            }
          >
            Restore
          </button>
        )}
        <button type="button" className="btn solid" onClick={() => setEditing(true)}>
          <Icon name="edit" small />
          Change
        </button>
      </header>
      {problem !== undefined && (
        <div className="net failed-bar" role="alert">
          {problem}
        </div>
      )}
      <div className="scroll">
        <div className="page agent-page">
          <div className="stack">
            {agent.status === "active" && <TryAgent agent={agent} attempt={attempt} />}
            <section>
              <div className="h">
                <h2>System prompt</h2>
              </div>
              {agent.system_prompt === "" ? <p className="lbl">None.</p> : <Markdown text={agent.system_prompt} />}
            </section>
            <AgentTools tools={agent.config.tool_schemas} />
            <SessionsOfAgent agent={agent} />
          </div>
          <div className="stack">
            <AgentFacts agent={agent} />
            <AgentVersions agent={agent} />
          </div>
        </div>
      </div>
      {isEditing && (
        <AgentForm
          title={`Change ${agent.name}`}
          agent={agent}
          onClose={() => setEditing(false)}
          onSave={async (values) => {
            await api.changeAgent(agent.id, agent.version, values);
            await refresh();
            setEditing(false);
          }}
        />
      )}
    </>
  );
}
