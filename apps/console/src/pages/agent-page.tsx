import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { AgentForm } from "../agents/agent-form.tsx";
import { AgentVersions } from "../agents/agent-versions.tsx";
import { type Agent, isMissing, sentenceOf } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import { LastSessions } from "../home/last-sessions.tsx";
import { Markdown } from "../text/markdown.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { fullTime } from "../ui/times.ts";
import { messageKey } from "../ui/message-key.ts";

/** One agent: what it is made of, its versions, its sessions; and a place to try it. */
export function AgentPage({ id }: { id: string }) {
  const api = useApi();
  const agent = useQuery({ queryKey: ["agents", id], queryFn: () => api.agent(id) });
  if (agent.isLoading) return <LoadingRows />;
  if (!agent.data)
    return (
      <Nothing title={isMissing(agent.error) ? "There is no such agent" : "The agent cannot be shown"} state="failed">
        <p>{isMissing(agent.error) ? "The link may be of another server." : sentenceOf(agent.error)}</p>
        <Link className="btn" href="/agents">
          All agents
        </Link>
      </Nothing>
    );
  return <Loaded agent={agent.data} />;
}

function Loaded({ agent }: { agent: Agent }) {
  const api = useApi();
  const queries = useQueryClient();
  const changed = useChanged();
  const [, go] = useLocation();
  const [isEditing, setEditing] = useState(false);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string>();
  const sessions = useQuery({
    queryKey: ["sessions", "of", agent.id],
    queryFn: () => api.sessions({ agentId: agent.id }),
  });
  const { config } = agent;
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ["agents"] });
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const tryIt = (): Promise<void> =>
    attempt(async () => {
      const session = await api.newSession(agent.id);
      await api.say(session.id, { content: { text: text.trim() }, mode: "queue", idempotencyKey: messageKey() });
      changed();
      go(`/sessions/${session.id}`);
    });

  return (
    <>
      <header className="top">
        <div className="crumb">
          <Link href="/agents">Agents</Link>
          <span className="sep">/</span>
        </div>
        <h1 className="cut">{visibleLine(agent.name)}</h1>
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
            {agent.status === "active" && (
              <form
                className="card pad form"
                onSubmit={(event) => {
                  event.preventDefault();
                  if (text.trim() !== "") void tryIt();
                }}
              >
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
            )}
            <section>
              <div className="h">
                <h2>System prompt</h2>
              </div>
              {agent.system_prompt === "" ? <p className="lbl">None.</p> : <Markdown text={agent.system_prompt} />}
            </section>
            <section>
              <div className="h">
                <h2>Tools</h2> <span className="n">{config.tool_schemas.length}</span>
              </div>
              {config.tool_schemas.length === 0 ? (
                <p className="lbl">None: it can only talk.</p>
              ) : (
                <ul className="card lastlist">
                  {config.tool_schemas.map(({ name, description }) => (
                    <li key={name} className="toolrow">
                      <code>{visibleLine(name)}</code>
                      <span className="muted">{visibleLine(description)}</span>
                    </li>
                  ))}
                </ul>
              )}
            </section>
            <section>
              <div className="h">
                <h2>Sessions</h2>
                <span className="end">
                  <Link className="link" href={`/sessions?agent=${agent.id}`}>
                    All
                  </Link>
                </span>
              </div>
              {sessions.data?.data.length === 0 ? (
                <p className="lbl">None yet.</p>
              ) : (
                <LastSessions sessions={(sessions.data?.data ?? []).slice(0, 6)} agents={[]} />
              )}
            </section>
          </div>
          <div className="stack">
            <section className="card pad">
              <dl className="kv">
                <Row name="Model" value={visibleLine(config.model)} />
                <Row name="Runtime" value={config.runtime === "loop" ? "Skein's loop" : "Claude Code"} />
                <Row name="Most steps" value={grouped(config.max_steps)} />
                <Row name="Most output" value={`${grouped(config.max_tokens)} tokens`} />
                <Row
                  name="Thinking"
                  value={config.thinking_tokens === 0 ? "off" : `up to ${grouped(config.thinking_tokens)} tokens`}
                />
                <Row
                  name="Budget"
                  value={config.max_cost_micros === null ? "none" : `${money(config.max_cost_micros)} a session`}
                />
                <Row
                  name="Compaction"
                  value={
                    config.compactor_type === "none"
                      ? "off"
                      : `${config.compactor_type.replaceAll("_", " ")} above ${grouped(config.compaction_threshold)} tokens`
                  }
                />
                <Row name="Memory" value={config.memory_store_type.replaceAll("_", " ")} />
                <Row name="Made" value={fullTime(agent.created_at)} />
                <Row name="Changed" value={fullTime(agent.updated_at)} />
              </dl>
            </section>
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

function Row({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
