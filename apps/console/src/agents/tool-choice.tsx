import { useAgents } from "../api/context.tsx";
import { isDemo } from "../home/demo.ts";
import { visibleLine } from "../text/safe-text.ts";
import { useTools } from "./missing-tools.ts";

interface ToolChoiceProps {
  /** The names of the chosen tools, separated by commas. */
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** Chooses among the tools whose code is on this server. */
export function ToolChoice({ value, onValue }: ToolChoiceProps) {
  const tools = useTools();
  const hasDemo = useAgents().data?.some(isDemo) === true;
  const chosen = value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const known = tools.data ?? [];
  // A chosen tool that the server does not list (a demo tool, or a deleted tool) is shown until the user deselects it.
  const others = chosen.filter((name) => !known.some((tool) => tool.name === name));
  if (tools.data && known.length + others.length === 0)
    return (
      <p className="lbl">
        There is no tool to choose.{hasDemo && " The tool of the demo works only in the demo."} A tool is code: write a
        file <code>skein.config.ts</code> with <code>export default {"{ tools: [defineTool({ … })] }"}</code> in the
        folder in which the server starts, and start the server again. The file <code>docs/guides/api.md</code> of
        Skein’s repository has an example.
      </p>
    );
  const toggle = (name: string, isOn: boolean): void =>
    onValue((isOn ? [...chosen, name] : chosen.filter((one) => one !== name)).join(", "));
  return (
    <fieldset className="toolchoice">
      <legend>Tools</legend>
      {[
        ...known,
        ...others.map((name) => ({ name, description: "Not in the list of this server's tools", policy: null })),
      ].map((tool) => (
        <label key={tool.name} className="check" title={tool.description}>
          <input
            type="checkbox"
            checked={chosen.includes(tool.name)}
            onChange={({ target }) => toggle(tool.name, target.checked)}
          />
          <code>{visibleLine(tool.name)}</code>
          <span className="faint cut">{visibleLine(tool.description)}</span>
        </label>
      ))}
    </fieldset>
  );
}
