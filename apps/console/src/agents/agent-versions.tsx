import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Agent } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { Difference } from "../text/difference.tsx";
import { fullTime } from "../ui/times.ts";

/** The 30 newest versions of an agent. A click on a version shows its differences from the previous version. */
export function AgentVersions({ agent }: { agent: Agent }) {
  const [chosen, setChosen] = useState<number>();
  const versions = Array.from({ length: agent.version }, (_, at) => agent.version - at);
  return (
    <section>
      <div className="h">
        <h2>Versions</h2> <span className="n">{agent.version}</span>
      </div>
      <ul className="card lastlist">
        {versions.slice(0, 30).map((version) => (
          <li key={version}>
            <button
              type="button"
              className="versionrow"
              aria-expanded={chosen === version}
              onClick={() => setChosen(chosen === version ? undefined : version)}
            >
              Version {version}
              {version === agent.version && <span className="chip">current</span>}
            </button>
            {chosen === version && <VersionChange agent={agent} version={version} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function VersionChange({ agent, version }: { agent: Agent; version: number }) {
  const api = useApi();
  const pair = useQuery({
    queryKey: ["agents", agent.id, "version", version],
    queryFn: async () =>
      [await api.agent(agent.id, version), version > 1 ? await api.agent(agent.id, version - 1) : undefined] as const,
    staleTime: Infinity,
  });
  if (!pair.data) return <p className="lbl pad">…</p>;
  const [now, before] = pair.data;
  if (!before) return <p className="lbl pad">The first version, from {fullTime(now.created_at)}.</p>;
  return (
    <div className="version-diff">
      <p className="lbl">{fullTime(now.updated_at)}</p>
      <Difference before={asText(before)} after={asText(now)} path="agent.json" isChangesOnly />
    </div>
  );
}

/** Returns a version as JSON, without the agent's own name, description and prompt, because `config` contains them. */
function asText({ config, tags, status }: Agent): string {
  return JSON.stringify({ ...config, tags, status }, null, 2).replaceAll("\\n", "\n");
}
