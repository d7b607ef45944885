import {
  Combobox,
  ComboboxGroup,
  ComboboxGroupLabel,
  ComboboxItem,
  ComboboxList,
  ComboboxProvider,
} from "@ariakit/react/combobox";
import { Dialog } from "@ariakit/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAgents, useApi } from "../api/context.tsx";
import { distinctNames } from "../api/distinct-names.ts";
import { useTitles } from "../api/titles.ts";
import { visibleLine } from "../text/safe-text.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Marked } from "../ui/highlighted-text.tsx";
import { stateOf } from "../ui/session-state.ts";
import { StateMark } from "../ui/status.tsx";
import { when } from "../ui/times.ts";
import type { Overlay } from "./overlay.ts";
import { applyTheme } from "./theme.ts";

interface Command {
  readonly name: string;
  readonly icon: IconName;
  readonly key?: string;
  readonly run: () => void;
}

interface PaletteProps {
  readonly onClose: () => void;
  readonly onOverlay: (overlay: Overlay) => void;
  readonly onLogOut: () => void;
}

/** At most this many sessions and this many agents are shown. */
const SHOWN = 8;

/** Finds commands, sessions and agents, and shows them in one list. */
export function Palette({ onClose, onOverlay, onLogOut }: PaletteProps) {
  const api = useApi();
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const sessions = useQuery({
    queryKey: ["sessions", "palette"],
    queryFn: () => api.sessions({ sort: "last_run", isTopLevel: true }),
    staleTime: 10_000,
  });
  const agents = useAgents();
  const names = distinctNames(agents.data ?? []);
  const titleOf = useTitles();
  const leave = (run: () => void) => (): void => {
    onClose();
    run();
  };
  const commands: readonly Command[] = [
    { name: "New session…", icon: "plus", key: "N", run: () => onOverlay("new") },
    { name: "Home", icon: "home", key: "G H", run: () => go("/") },
    { name: "Sessions", icon: "sessions", key: "G S", run: () => go("/sessions") },
    { name: "Agents", icon: "agents", key: "G A", run: () => go("/agents") },
    { name: "New agent…", icon: "plus", run: () => go("/agents?new=1") },
    { name: "Usage", icon: "usage", key: "G U", run: () => go("/usage") },
    { name: "SQL", icon: "sql", key: "G Q", run: () => go("/sql") },
    { name: "Settings", icon: "settings", run: () => go("/settings") },
    { name: "Keys", icon: "ask", key: "?", run: () => onOverlay("keys") },
    { name: "Light theme", icon: "sun", run: () => applyTheme("light") },
    { name: "Dark theme", icon: "sun", run: () => applyTheme("dark") },
    { name: "Theme of the system", icon: "sun", run: () => applyTheme("system") },
    { name: "Log out", icon: "back", run: onLogOut },
  ];
  const fits = (name: string): boolean => name.toLowerCase().includes(text.trim().toLowerCase());
  const shownSessions = (sessions.data?.data ?? [])
    .filter((one) => fits(titleOf(one)) || one.id === text.trim())
    .slice(0, SHOWN);
  const shownAgents = (agents.data ?? []).filter(({ name }) => fits(name)).slice(0, SHOWN);
  const shownCommands = commands.filter(({ name }) => fits(name));

  return (
    <Dialog
      open
      onClose={onClose}
      className="palette"
      backdrop={<div className="scrim" />}
      aria-label="Search or jump to"
    >
      <ComboboxProvider open setValue={setText} includesBaseElement={false}>
        <div className="palette-in">
          <Icon name="search" />
          <Combobox autoSelect="always" placeholder="Search or jump to" className="palette-input" autoFocus />
          <kbd>Esc</kbd>
        </div>
        <ComboboxList className="palette-list" alwaysVisible>
          {text !== "" && (
            <Group name="Sessions" count={shownSessions.length}>
              {shownSessions.map((session) => (
                <ComboboxItem
                  key={session.id}
                  className="palette-item"
                  onClick={leave(() => go(`/sessions/${session.id}`))}
                >
                  <StateMark state={stateOf(session)} />
                  <span className="cut grow">
                    <Marked text={visibleLine(titleOf(session))} search={text} />
                  </span>
                  <span className="faint num">{when(session.updated_at)}</span>
                </ComboboxItem>
              ))}
            </Group>
          )}
          <Group name="Commands" count={shownCommands.length}>
            {shownCommands.map(({ name, icon, key, run }) => (
              <ComboboxItem key={name} className="palette-item" onClick={leave(run)}>
                <Icon name={icon} small />
                <span className="cut grow">
                  <Marked text={name} search={text} />
                </span>
                {key !== undefined && <kbd>{key}</kbd>}
              </ComboboxItem>
            ))}
          </Group>
          <Group name="Agents" count={shownAgents.length}>
            {shownAgents.map((agent) => (
              <ComboboxItem key={agent.id} className="palette-item" onClick={leave(() => go(`/agents/${agent.id}`))}>
                <Icon name="agents" small />
                <span className="cut grow">
                  <Marked text={visibleLine(names.get(agent.id) ?? agent.name)} search={text} />
                </span>
                <span className="faint">{agent.config.model}</span>
              </ComboboxItem>
            ))}
          </Group>
          {shownSessions.length + shownCommands.length + shownAgents.length === 0 && (
            <p className="pad muted">
              No command, session or agent here has “{text}” in its name. The page Sessions searches all sessions.
            </p>
          )}
        </ComboboxList>
      </ComboboxProvider>
    </Dialog>
  );
}

function Group({ name, count, children }: { name: string; count: number; children: React.ReactNode }) {
  if (count === 0) return null;
  return (
    <ComboboxGroup>
      <ComboboxGroupLabel className="palette-label">{name}</ComboboxGroupLabel>
      {children}
    </ComboboxGroup>
  );
}
