import { Menu, MenuButton, MenuItem, MenuProvider } from "@ariakit/react/menu";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { type HistoryDetails, sentenceOf } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import type { HistoryKey } from "../api/history-key.ts";
import { visibleLine } from "../text/safe-text.ts";
import { BackToSessions } from "../ui/back-to-sessions.tsx";
import { costWords } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { saveFile } from "../ui/save-file.ts";
import { sourceName } from "../sessions/listed-row.ts";
import { usePageTitle } from "../ui/use-page-title.ts";
import { ContinueDialog } from "./continue-dialog.tsx";

interface HistoryTopProps {
  readonly session: HistoryKey;
  readonly details: HistoryDetails | undefined;
  readonly withRewound: boolean;
  readonly onRewound: (isShown: boolean) => void;
  readonly onInspector: () => void;
  readonly onProblem: (problem: string | undefined) => void;
}

const FORMATS = [
  ["html", "Export as a page"],
  ["markdown", "Export as Markdown"],
  ["json", "Export as JSON"],
] as const;

/** The header of a coding agent's session: the title, and how to continue the session. */
export function HistoryTop({ session, details, withRewound, onRewound, onInspector, onProblem }: HistoryTopProps) {
  const { id } = session;
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const [isAdopting, setAdopting] = useState(false);
  const [isContinuing, setContinuing] = useState(false);
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    onProblem(undefined);
    try {
      await work();
    } catch (error) {
      onProblem(sentenceOf(error));
    }
  };
  const adopt = async (): Promise<void> => {
    setAdopting(true);
    await attempt(async () => {
      await api.adoptHistory(session);
      changed();
      go(`/sessions/${id}`);
    });
    setAdopting(false);
  };
  const title = details?.title ?? (details ? "A session without a prompt" : "");
  usePageTitle(title);
  const agent = details ? visibleLine(sourceName(details.source)) : "its agent";
  const branches = details?.branches?.length ?? 0;
  return (
    <header className="top">
      <BackToSessions />
      <h1 className="cut">{visibleLine(title)}</h1>
      {details && <span className="chip desk-only">{agent}</span>}
      <span className="grow" />
      {details?.usage != null && (
        <span className="meta desk-only num strong">
          {costWords(details.cost_micros ?? 0, details.usage.unpriced_calls)}
        </span>
      )}
      {branches > 0 && (
        <button
          type="button"
          className="btn desk-only"
          aria-pressed={withRewound}
          onClick={() => onRewound(!withRewound)}
        >
          <Icon name="fork" small />
          {withRewound ? "Hide rewound" : `Show rewound (${branches})`}
        </button>
      )}
      <button type="button" className="btn desk-only" onClick={() => setContinuing(true)}>
        Continue in {agent}…
      </button>
      {details?.is_adopted ? (
        <Link className="btn solid" href={`/sessions/${id}`}>
          Open in Skein
        </Link>
      ) : (
        <button type="button" className="btn solid" disabled={isAdopting} onClick={() => void adopt()}>
          {isAdopting ? "Adopting…" : "Adopt into Skein"}
        </button>
      )}
      <MenuProvider>
        <MenuButton className="btn icon quiet" aria-label="More">
          <Icon name="more" />
        </MenuButton>
        <Menu className="menu" gutter={6} unmountOnHide>
          <MenuItem className="menu-item" onClick={() => setContinuing(true)}>
            Continue in {agent}…
          </MenuItem>
          {branches > 0 && (
            <MenuItem className="menu-item" onClick={() => onRewound(!withRewound)}>
              {withRewound ? "Hide rewound messages" : "Show rewound messages"}
            </MenuItem>
          )}
          {FORMATS.map(([format, words]) => (
            <MenuItem
              key={format}
              className="menu-item"
              onClick={() =>
                void attempt(async () =>
                  saveFile(
                    `session-${id}.${format === "markdown" ? "md" : format}`,
                    await api.exportHistory(session, format),
                  ),
                )
              }
            >
              {words}
            </MenuItem>
          ))}
        </Menu>
      </MenuProvider>
      <button type="button" className="btn icon quiet insp-btn" aria-label="Inspector" onClick={onInspector}>
        <Icon name="panel" />
      </button>
      {isContinuing && details && <ContinueDialog details={details} onClose={() => setContinuing(false)} />}
    </header>
  );
}
