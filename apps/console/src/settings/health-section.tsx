import type { Health } from "../api/api.ts";
import { useHealth } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { StateWord } from "../ui/status.tsx";

/** The parts of the server, and whether each of them works. */
export function HealthSection() {
  const health = useHealth();
  const parts: NonNullable<Health["dependencies"]> = health.data?.dependencies ?? [
    { name: "server", status: health.isError ? "failed" : "ok", latency_ms: 0, detail: "" },
  ];
  return (
    <section>
      <div className="h">
        <h2>Health</h2>
        <span className="end num">version {health.data?.version ?? "…"}</span>
      </div>
      <ul className="card lastlist health">
        {parts.map(({ name, status, latency_ms, detail }) => (
          <li key={name}>
            <span className="health-h">
              <StateWord state={status === "ok" ? "done" : "failed"} word={visibleLine(name)} />
              <span className="faint num">{Math.round(latency_ms * 10) / 10} ms</span>
            </span>
            {detail !== "" && <span className="lbl block">{visibleLine(detail)}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
