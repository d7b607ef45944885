import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react/tab";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { HistoryDetails } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { type HistoryKey, historyHref } from "../api/history-key.ts";
import { historySums } from "./history-sums.ts";
import { sourceName } from "../sessions/listed-row.ts";
import { OutlinePanel } from "../session/outline-panel.tsx";
import type { PanelProps } from "../session/panel-props.ts";
import { TokenSection } from "../session/token-section.tsx";
import { ToolsPanel } from "../session/tools-panel.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { bytes, costWords, plural } from "../ui/amounts.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Fact, FactList } from "../ui/fact-list.tsx";
import { Nothing } from "../ui/empty-state.tsx";
import { saveFile } from "../ui/save-file.ts";
import { shortId } from "../ui/session-state.ts";
import { fullTime } from "../ui/times.ts";

export type HistoryTab = "session" | "outline" | "tools" | "files";

interface HistoryInspectorProps {
  readonly tab: HistoryTab;
  readonly onTab: (tab: HistoryTab) => void;
  readonly details: HistoryDetails | undefined;
  readonly session: HistoryKey;
  readonly agentId: string | null;
  readonly panel: PanelProps;
  /** Whether the beginning of the transcript was not read yet, so that totals are incomplete. */
  readonly isPartial: boolean;
}

/** Information about a coding agent's session, beside its transcript. */
export function HistoryInspector({ tab, onTab, details, session, agentId, panel, isPartial }: HistoryInspectorProps) {
  return (
    <aside className="insp" aria-label="Inspector">
      <TabProvider selectedId={tab} setSelectedId={(id) => id && onTab(id as HistoryTab)}>
        <TabList className="tabs" aria-label="Inspector">
          <Tab id="session">Session</Tab>
          <Tab id="outline">Outline</Tab>
          <Tab id="tools">Tools</Tab>
          <Tab id="files">Files</Tab>
        </TabList>
        <TabPanel tabId={tab} className="scroll panels">
          {tab === "session" && details && (
            <Facts details={details} agentId={agentId} panel={panel} isPartial={isPartial} />
          )}
          {tab === "outline" && <OutlinePanel {...panel} />}
          {tab === "tools" && <ToolsPanel {...panel} />}
          {tab === "files" && <Versions session={session} />}
        </TabPanel>
      </TabProvider>
    </aside>
  );
}

function Facts({
  details,
  agentId,
  panel: { view, onShow },
  isPartial,
}: Pick<HistoryInspectorProps, "agentId" | "panel" | "isPartial"> & { readonly details: HistoryDetails }) {
  const { cost, totals, scope } = historySums(details, view, { agentId, isPartial });
  return (
    <>
      <section className="sec">
        <div className="budget">
          <span className="fig">{costWords(cost.cost_micros, cost.unpriced_calls)}</span>
          <span className="lbl end">{plural(details.message_count, "message")}</span>
        </div>
        <p className="lbl">Estimated from the price table. Subscriptions are billed differently.</p>
        {cost.unpriced_calls > 0 && (
          <p className="lbl">{plural(cost.unpriced_calls, "model call")} without a price: not in the cost.</p>
        )}
      </section>
      <TokenSection totals={totals} scope={scope} />
      {(details.branches?.length ?? 0) > 0 && (
        <section className="sec">
          <h3>Branches</h3>
          {(details.branches ?? []).map(({ at, ways }) => (
            <ol key={at ?? "beginning"} className="branchlist">
              {ways.map((way) => (
                <li key={way.id} className={way.is_active ? "strong" : "faint"}>
                  <button type="button" className="link cut" onClick={() => showMessage(view, way.id, onShow)}>
                    {visibleLine(way.prompt ?? "An answer").slice(0, 80)}
                  </button>
                  {way.is_active && <span className="chip">kept</span>}
                </li>
              ))}
            </ol>
          ))}
        </section>
      )}
      <section className="sec">
        <h3>Details</h3>
        <FactList>
          <Fact name="Project">{visibleLine(details.project_path)}</Fact>
          {details.git_branch !== null && <Fact name="Branch">{visibleLine(details.git_branch)}</Fact>}
          <Fact name={visibleLine(sourceName(details.source))}>{visibleLine(details.version)}</Fact>
          <Fact name="Begun">{fullTime(details.created_at)}</Fact>
          <Fact name="Last active">{fullTime(details.last_activity_at)}</Fact>
          <Fact name="File">{bytes(details.size_bytes)}</Fact>
          {details.subagents.length > 0 && (
            <Fact name="Subagents">
              <span className="cut">
                {details.subagents.slice(0, 20).map((agent) => (
                  <Link
                    key={agent}
                    className={agent === agentId ? "strong block cut" : "link block cut"}
                    href={historyHref(details, { agent })}
                  >
                    {agent}
                  </Link>
                ))}
                {agentId !== null && (
                  <Link className="link block" href={historyHref(details)}>
                    Back to the session
                  </Link>
                )}
              </span>
            </Fact>
          )}
          <Fact name="Session">
            <code>{shortId(details.id)}</code>
            <CopyButton text={details.id} label="Copy the id" />
          </Fact>
        </FactList>
      </section>
    </>
  );
}

function showMessage(view: PanelProps["view"], messageId: string, onShow: (sequence: number) => void): void {
  const item = view.items.find((one) => one.kind === "prompt" && one.messageId === messageId);
  if (item) onShow(item.sequence);
}

/** Files that the session changed. Claude Code keeps a copy of each file before each change. */
function Versions({ session }: { session: HistoryKey }) {
  const api = useApi();
  const files = useQuery({
    queryKey: ["history", session, "files"],
    queryFn: () => api.historyFiles(session),
    retry: false,
  });
  if (files.data?.length === 0)
    return (
      <Nothing title="No copies of files" state="idle">
        The coding agent kept no copies of the files that this session changed.
      </Nothing>
    );
  return (
    <ul className="rows versions">
      {(files.data ?? []).map(({ path, versions }) => (
        <li key={path}>
          <code className="cut block" title={path}>
            {visibleLine(path)}
          </code>
          {versions.map(({ version, is_absent, is_kept }) => (
            <button
              key={version}
              type="button"
              className="btn quiet"
              disabled={!is_kept}
              title={is_absent ? "The file did not exist yet" : is_kept ? "Save this copy" : "The copy was deleted"}
              onClick={() =>
                void api
                  .historyFile(session, path, version)
                  .then((blob) => saveFile(`${path.split("/").at(-1) ?? "file"}.v${version}`, blob))
              }
            >
              {is_absent ? "new" : `v${version}`}
            </button>
          ))}
        </li>
      ))}
    </ul>
  );
}
