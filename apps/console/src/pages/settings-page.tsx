import { useState } from "react";
import { useHealth } from "../api/context.tsx";
import { KeysSection } from "../settings/keys-section.tsx";
import { MeSection } from "../settings/me-section.tsx";
import { ModelsSection } from "../settings/models-section.tsx";
import { PolicySection } from "../settings/policy-section.tsx";
import { WebhooksSection } from "../settings/webhooks-section.tsx";
import { turnNoticesOff, turnNoticesOn, wantsNotices } from "../shell/notices.ts";
import { type Theme, applyTheme, chosenTheme } from "../shell/theme.ts";
import { StateWord } from "../ui/status.tsx";

const THEMES: readonly (readonly [theme: Theme, word: string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** This browser, and what the server lets an admin see of itself. */
export function SettingsPage({ onLogOut }: { onLogOut: () => void }) {
  return (
    <>
      <header className="top">
        <h1>Settings</h1>
        <span className="grow" />
        <button type="button" className="btn" onClick={onLogOut}>
          Log out
        </button>
      </header>
      <div className="scroll">
        <div className="page settings">
          <BrowserSection />
          <MeSection />
          <PolicySection />
          <HealthSection />
          <KeysSection />
          <ModelsSection />
          <WebhooksSection />
        </div>
      </div>
    </>
  );
}

function BrowserSection() {
  const [theme, setTheme] = useState(chosenTheme);
  const [hasNotices, setNotices] = useState(wantsNotices);
  return (
    <section>
      <div className="h">
        <h2>This browser</h2>
      </div>
      <div className="card pad form">
        <div className="setrow">
          <span>Theme</span>
          <span className="seg" role="group" aria-label="Theme">
            {THEMES.map(([value, word]) => (
              <button
                key={value}
                type="button"
                aria-pressed={theme === value}
                onClick={() => {
                  applyTheme(value);
                  setTheme(value);
                }}
              >
                {word}
              </button>
            ))}
          </span>
        </div>
        <div className="setrow">
          <span>
            Tell me in the browser when something waits
            <span className="lbl block">While a page of the console is open and not looked at.</span>
          </span>
          <button
            type="button"
            className="btn"
            onClick={() => {
              if (!hasNotices) return void turnNoticesOn().then(setNotices);
              turnNoticesOff();
              return setNotices(false);
            }}
          >
            {hasNotices ? "Turn off" : "Turn on"}
          </button>
        </div>
      </div>
    </section>
  );
}

function HealthSection() {
  const health = useHealth();
  return (
    <section>
      <div className="h">
        <h2>Health</h2>
        <span className="end num">version {health.data?.version ?? "…"}</span>
      </div>
      <div className="card">
        <table className="tbl">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col">State</th>
              <th scope="col" className="r w-num">
                Answers in
              </th>
            </tr>
          </thead>
          <tbody>
            {(
              health.data?.dependencies ?? [
                {
                  name: "server",
                  status: health.isError ? ("failed" as const) : ("ok" as const),
                  latency_ms: 0,
                  detail: "",
                },
              ]
            ).map((part) => (
              <tr key={part.name}>
                <td className="t">{part.name}</td>
                <td title={part.detail}>
                  <StateWord
                    state={part.status === "ok" ? "done" : "failed"}
                    word={part.status === "ok" ? (part.detail === "" ? "Works" : part.detail) : part.detail}
                  />
                </td>
                <td className="r">{Math.round(part.latency_ms * 10) / 10} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
