import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react/tab";
import { StateMark } from "../ui/status.tsx";
import { EffectsPanel } from "./effects-panel.tsx";
import { EventsPanel } from "./events-panel.tsx";
import { FilesPanel } from "./files-panel.tsx";
import { OutlinePanel } from "./outline-panel.tsx";
import type { PanelProps } from "./panel-props.ts";
import { SessionPanel } from "./session-panel.tsx";
import { StepsPanel } from "./steps-panel.tsx";
import { ToolsPanel } from "./tools-panel.tsx";

export type InspectorTab = "session" | "outline" | "steps" | "effects" | "tools" | "files" | "events";

interface InspectorProps extends PanelProps {
  readonly tab: InspectorTab;
  readonly onTab: (tab: InspectorTab) => void;
}

/** Information about a session beside its transcript. The tab is in the URL. */
export function Inspector({ tab, onTab, ...panel }: InspectorProps) {
  const { view } = panel;
  const unknown = [...view.calls.values()].filter(({ state }) => state === "unknown").length;
  const files = view.files.size + view.stored.size;
  return (
    <aside className="insp" aria-label="Inspector">
      <TabProvider selectedId={tab} setSelectedId={(id) => id && onTab(id as InspectorTab)}>
        <TabList className="tabs" aria-label="Inspector">
          <Tab id="session">Session</Tab>
          <Tab id="outline">Outline</Tab>
          <Tab id="steps">Steps</Tab>
          <Tab id="effects" title="What each tool call did, and whether it took effect">
            Effects
            {unknown > 0 && <StateMark state="unknown" word={`${unknown} unknown`} />}
          </Tab>
          <Tab id="tools">Tools</Tab>
          <Tab id="files">Files{files > 0 && <span>{files}</span>}</Tab>
          <Tab id="events">Log</Tab>
        </TabList>
        <TabPanel tabId={tab} className="scroll panels">
          {tab === "session" && <SessionPanel {...panel} />}
          {tab === "outline" && <OutlinePanel {...panel} />}
          {tab === "steps" && <StepsPanel {...panel} />}
          {tab === "effects" && <EffectsPanel {...panel} />}
          {tab === "tools" && <ToolsPanel {...panel} />}
          {tab === "files" && <FilesPanel {...panel} />}
          {tab === "events" && <EventsPanel {...panel} />}
        </TabPanel>
      </TabProvider>
    </aside>
  );
}
