import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useFollowChanges } from "../api/changes.ts";
import { useActive, useAwaits, useHealth, useMe } from "../api/context.tsx";
import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { ConnectionBar } from "./connection-bar.tsx";
import { Navigation, TabBar } from "./navigation.tsx";
import { useWaitNotices, wantsNotices } from "./notices.ts";
import { type Overlay, OverlayProvider } from "./overlay.ts";

const Palette = loadedWhenShown(async () => (await import("./palette.tsx")).Palette);
const KeyHelp = loadedWhenShown(async () => (await import("./key-help.tsx")).KeyHelp);
const NewSession = loadedWhenShown(async () => (await import("./new-session.tsx")).NewSession);

interface ShellProps {
  readonly onLogOut: () => void;
  readonly onUnauthorized: () => void;
  readonly children: ReactNode;
}

/** The frame of every page: navigation, the state of the connection, and overlays. */
export function Shell({ onLogOut, onUnauthorized, children }: ShellProps) {
  const [overlay, setOverlay] = useState<Overlay>(null);
  const [path, go] = useLocation();
  const awaits = useAwaits();
  const active = useActive();
  const health = useHealth();
  const me = useMe();
  const waiting = awaits.data?.length ?? 0;
  useWaitNotices(awaits.data);
  useFollowChanges({ onUnauthorized, isKept: wantsNotices });
  useKeys({
    "mod+k": () => setOverlay("palette"),
    "?": () => setOverlay("keys"),
    n: () => setOverlay("new"),
    "g h": () => go("/"),
    "g s": () => go("/sessions"),
    "g a": () => go("/agents"),
    "g u": () => go("/usage"),
    "g q": () => go("/sql"),
    "g ,": () => go("/settings"),
  });
  const close = (): void => setOverlay(null);
  const isInside = /^\/(sessions|history)\/.+/.test(path);

  return (
    <div className={`app ${isInside ? "is-inside" : ""}`}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Navigation waiting={waiting} active={active.data ?? []} health={health} me={me.data} onOverlay={setOverlay} />
      <main className="main" id="main" tabIndex={-1}>
        <ConnectionBar health={health} />
        <OverlayProvider value={setOverlay}>{children}</OverlayProvider>
      </main>
      {!isInside && <TabBar waiting={waiting} />}
      <div className="sr" role="status" aria-live="polite">
        {waiting === 0 ? "" : waiting === 1 ? "1 question waits for you" : `${waiting} questions wait for you`}
      </div>
      {overlay === "palette" && <Palette onClose={close} onOverlay={setOverlay} onLogOut={onLogOut} />}
      {overlay === "keys" && <KeyHelp onClose={close} />}
      {overlay === "new" && <NewSession onClose={close} />}
    </div>
  );
}
