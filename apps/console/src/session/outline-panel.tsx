import { type Content, textOf } from "@skein/protocol";
import { visibleLine } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import { StateMark } from "../ui/status.tsx";
import { callWords } from "./call-words.ts";
import type { PanelProps } from "./panel-props.ts";
import { stateOfStep } from "./step-state.ts";
import { type Item, type Step, stepLabel } from "./view.ts";

/** The outline of the session: a link for each message and step. */
export function OutlinePanel({ view, onShow }: PanelProps) {
  const items = view.items.filter((item) => item.kind !== "unknown");
  return (
    <ol className="outline">
      {items.slice(-2000).map((item) => (
        <li key={item.key} className={item.kind}>
          <button type="button" onClick={() => onShow(item.sequence)}>
            {item.kind === "step" ? (
              <StateMark state={stateOfStep(item)} />
            ) : (
              <Icon name={item.kind === "prompt" ? "ask" : "more"} small />
            )}
            <span className="cut">{lineOf(item)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function lineOf(item: Item): string {
  if (item.kind === "prompt") return visibleLine(textOf(item.content)).slice(0, 120);
  if (item.kind === "mark") return item.text;
  return item.kind === "step" ? stepLine(item) : "";
}

function stepLine(step: Step): string {
  const text = visibleLine(textOf(step.content as Content)).slice(0, 120);
  const [call] = step.calls;
  if (call) {
    const { name, about } = callWords(call.name, call.input);
    const more = step.calls.length > 1 ? ` and ${step.calls.length - 1} more` : "";
    return `${stepLabel(step)}  ${name} ${about}`.slice(0, 100) + more;
  }
  return `${stepLabel(step)}  ${text === "" ? "…" : text}`;
}
