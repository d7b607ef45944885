import { useMe } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { Fact, FactList } from "../ui/fact-list.tsx";
import { fullTime } from "../ui/times.ts";

const SCOPES: Readonly<Record<string, string>> = {
  read: "read",
  run: "run agents and answer",
  sql: "run SQL queries",
  admin: "everything, also agents, models and webhooks",
};

/** The name and the rights of the API key of this login, and what runs on this server. */
export function MeSection() {
  const { data: me } = useMe();
  if (!me) return null;
  const { key, tenant, expires_at, server } = me;
  return (
    <section>
      <div className="h">
        <h2>Who am I</h2>
      </div>
      <div className="card pad">
        <FactList>
          <Fact name="Key">
            {visibleLine(key.name)} <code className="faint">{key.id}</code>
          </Fact>
          <Fact name="May">{key.scopes.map((scope) => SCOPES[scope] ?? scope).join(", ")}</Fact>
          <Fact name="Tenant">
            {visibleLine(tenant)} <span className="faint">a separate space with its own keys and sessions</span>
          </Fact>
          {expires_at !== null && <Fact name="Logged in until">{fullTime(expires_at)}</Fact>}
          <Fact name="Model">
            {visibleLine(server.model.name)} {server.model.simulated && <span className="chip">simulated</span>}
          </Fact>
          <Fact name="Store">{visibleLine(server.store)}</Fact>
          <Fact name="SQL">{server.sql.available ? "On" : visibleLine(server.sql.reason ?? "Off")}</Fact>
          <Fact name="Claude Code's sessions">
            {server.history.available ? "Shown beside Skein's" : visibleLine(server.history.reason ?? "Closed")}
          </Fact>
          <Fact name="Agents that run Claude Code">{server.claude_code ? "On" : "Off"}</Fact>
        </FactList>
      </div>
    </section>
  );
}
