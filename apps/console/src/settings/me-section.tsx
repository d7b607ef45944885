import { useMe } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { fullTime } from "../ui/times.ts";

const SCOPES: Readonly<Record<string, string>> = {
  read: "read",
  run: "run agents and answer",
  sql: "ask SQL",
  admin: "everything, also agents, models and webhooks",
};

/** Whose key this is, what it may do, and what runs here. */
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
        <dl className="kv">
          <Row name="Key">
            {visibleLine(key.name)} <code className="faint">{key.id}</code>
          </Row>
          <Row name="May">{key.scopes.map((scope) => SCOPES[scope] ?? scope).join(", ")}</Row>
          <Row name="Tenant">{visibleLine(tenant)}</Row>
          {expires_at !== null && <Row name="Logged in until">{fullTime(expires_at)}</Row>}
          <Row name="Model">
            {visibleLine(server.model.name)} {server.model.simulated && <span className="chip">simulated</span>}
          </Row>
          <Row name="Store">{visibleLine(server.store)}</Row>
          <Row name="SQL">{server.sql.available ? "Answered here" : visibleLine(server.sql.reason ?? "Off")}</Row>
          <Row name="Claude Code's sessions">
            {server.history.available ? "Shown beside Skein's" : visibleLine(server.history.reason ?? "Closed")}
          </Row>
          <Row name="Claude Code as a runtime">{server.claude_code ? "On" : "Off"}</Row>
        </dl>
      </div>
    </section>
  );
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
