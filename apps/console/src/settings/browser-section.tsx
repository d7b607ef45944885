import { useState } from "react";
import { turnNoticesOff, turnNoticesOn, wantsNotices } from "../shell/notices.ts";
import { type Theme, applyTheme, chosenTheme } from "../shell/theme.ts";
import { Switch } from "../ui/switch.tsx";

const THEMES: readonly (readonly [theme: Theme, word: string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Settings that are stored only in this browser. */
export function BrowserSection() {
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
          <Switch
            label="Theme"
            values={THEMES}
            chosen={theme}
            onChoose={(value) => {
              applyTheme(value as Theme);
              setTheme(value as Theme);
            }}
          />
        </div>
        <div className="setrow">
          <span>
            Notify me in the browser when something waits for me
            <span className="lbl block">While a page of the console is open in the background.</span>
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
