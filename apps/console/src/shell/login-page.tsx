import { useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";

/** Asks for a key, for users who did not open the printed link. */
export function LoginPage({ problem, onKey }: { problem: string | undefined; onKey: (key: string) => void }) {
  usePageTitle("Log in");
  const [key, setKey] = useState("");
  const [isMissing, setMissing] = useState(false);
  const said = isMissing ? "Enter a key." : problem;
  return (
    <main className="login">
      <form
        className="card login-card"
        onSubmit={(event) => {
          event.preventDefault();
          setMissing(key.trim() === "");
          if (key.trim() !== "") onKey(key.trim());
        }}
      >
        <h1 className="brand">
          <Icon name="skein" className="brand-mark" />
          Skein
        </h1>
        {said !== undefined && (
          <p role="alert" className="say-failed">
            {said}
          </p>
        )}
        <p className="muted">
          Enter an API key. The first one is in the file <code>~/.skein/admin-key</code> on the server’s machine.
        </p>
        <label className="stacked">
          <span>Key</span>
          <span className="field tall">
            <input
              type="password"
              autoComplete="off"
              // The field gets the focus, because login is the only purpose of this page.
              autoFocus
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          </span>
        </label>
        <button className="btn solid tall" type="submit">
          Log in
        </button>
        <p className="lbl">
          On a terminal <code>skein serve</code> prints a link that logs in.{" "}
          <code>skein keys make NAME --scope run</code> makes another key.
        </p>
      </form>
    </main>
  );
}
