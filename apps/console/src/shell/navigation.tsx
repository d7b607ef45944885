import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import type { Health, Me, Session } from "../api/api.ts";
import { useTitles } from "../api/titles.ts";
import { stateOf } from "../ui/session-state.ts";
import { visibleLine } from "../text/safe-text.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { isMac } from "../ui/is-mac.ts";
import { StateMark } from "../ui/status.tsx";
import type { Overlay } from "./overlay.ts";

const PLACES: readonly (readonly [href: string, name: string, icon: IconName])[] = [
  ["/", "Home", "home"],
  ["/sessions", "Sessions", "sessions"],
  ["/agents", "Agents", "agents"],
  ["/usage", "Usage", "usage"],
  ["/sql", "SQL", "sql"],
  ["/settings", "Settings", "settings"],
];

/** How many active sessions the side bar shows. */
const SHOWN = 5;

interface NavigationProps {
  readonly waiting: number;
  readonly active: readonly Session[];
  readonly health: UseQueryResult<Health>;
  readonly me: Me | undefined;
  readonly onOverlay: (overlay: Overlay) => void;
}

export function Navigation({ waiting, active, health, me, onOverlay }: NavigationProps) {
  const [path] = useLocation();
  return (
    <nav className="side" aria-label="Main">
      <Link className="brand" href="/">
        <Icon name="skein" className="brand-mark" />
        Skein
      </Link>
      <button className="find" type="button" title="Search or jump to" onClick={() => onOverlay("palette")}>
        <Icon name="search" small />
        <span className="grow">Search</span>
        <kbd>{isMac() ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <div className="nav">
        {PLACES.map(([href, name, icon]) => (
          <Link key={href} href={href} aria-current={isAt(path, href) ? "page" : undefined}>
            <Icon name={icon} />
            {name}
            {href === "/" && waiting > 0 && (
              <span className="count" title={`${waiting} wait for you`}>
                {waiting}
              </span>
            )}
          </Link>
        ))}
      </div>
      {active.length > 0 && <ActiveList active={active} path={path} />}
      <div className="side-foot">
        <span className={`dot round ${health.isError ? "bg-failed" : "bg-done"}`} />
        <Link
          className="grow cut plain"
          href="/settings"
          title={me ? `You are logged in with the key ${me.key.name}` : undefined}
        >
          {health.isError ? "No connection" : me ? `Key: ${visibleLine(me.key.name)}` : "Connected"}
        </Link>
        <button type="button" className="btn quiet icon" aria-label="All keys" onClick={() => onOverlay("keys")}>
          <kbd>?</kbd>
        </button>
      </div>
    </nav>
  );
}

function ActiveList({ active, path }: { active: readonly Session[]; path: string }) {
  const titleOf = useTitles();
  const first = [...active].sort((one, other) => rank(one) - rank(other)).slice(0, SHOWN);
  return (
    <div>
      <h2>
        <span>Active</span>
        <span className="num">{active.length}</span>
      </h2>
      <div className="nav">
        {first.map((session) => (
          <Link
            key={session.id}
            className="live"
            href={`/sessions/${session.id}`}
            aria-current={path === `/sessions/${session.id}` ? "page" : undefined}
          >
            <StateMark state={stateOf(session)} />
            <span className="cut">{visibleLine(titleOf(session))}</span>
          </Link>
        ))}
        {active.length > SHOWN && (
          <Link className="live" href="/sessions?status=active">
            <span className="indent faint">{active.length - SHOWN} more</span>
          </Link>
        )}
      </div>
    </div>
  );
}

/** Sessions that wait for a person come before running ones. */
function rank(session: Session): number {
  return session.activity === "awaiting" ? 0 : 1;
}

/** Shows the links of the navigation at the bottom of the screen on a phone. */
export function TabBar({ waiting }: { waiting: number }) {
  const [path] = useLocation();
  return (
    <nav className="tabbar" aria-label="Main, at the bottom">
      {PLACES.map(([href, name, icon]) => (
        <Link key={href} href={href} aria-current={isAt(path, href) ? "page" : undefined}>
          <Icon name={icon} />
          {name}
          {href === "/" && waiting > 0 && <span className="count">{waiting}</span>}
        </Link>
      ))}
    </nav>
  );
}

function isAt(path: string, href: string): boolean {
  if (href === "/sessions" && path.startsWith("/history/")) return true;
  return href === "/" ? path === "/" : path === href || path.startsWith(`${href}/`);
}
