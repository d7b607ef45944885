import { plural } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { Nothing } from "../ui/empty-state.tsx";
import { StateMark } from "../ui/status.tsx";
import { whenExactly } from "../ui/times.ts";
import { callWords, markOfCall, troubleWords } from "./call-words.ts";
import type { PanelProps } from "./panel-props.ts";
import type { Call } from "./view.ts";

/** The effect of each tool call. Calls with an unknown effect come first, then the other calls, the latest first. */
export function EffectsPanel({ view, onShow }: PanelProps) {
  const calls = [...view.calls.values()].filter(({ childSession }) => childSession === null).toReversed();
  if (calls.length === 0)
    return (
      <Nothing title="No effects" state="idle">
        This session has called no tools. Tool calls are listed here with their effects.
      </Nothing>
    );
  const unknown = calls.filter(({ state }) => state === "unknown");
  const rest = calls.filter(({ state }) => state !== "unknown");
  const count = (state: Call["state"]): number => calls.filter((call) => call.state === state).length;
  const notRun = troubleWords(calls, ["denied", "cancelled"]);
  return (
    <>
      <p className="sec lbl">
        {plural(count("done"), "call")} took effect, {count("failed")} failed{notRun !== "" && `, ${notRun}`}
        {unknown.length > 0 && (
          <>
            , <b className="unknown">{unknown.length} unknown</b>
          </>
        )}
        {count("running") + count("waiting") > 0 && `, ${count("running") + count("waiting")} under way`}
      </p>
      <ul>
        {[...unknown, ...rest].map((call) => (
          <EffectRow key={call.id} call={call} onShow={onShow} />
        ))}
      </ul>
    </>
  );
}

function EffectRow({ call, onShow }: { call: Call; onShow: (sequence: number) => void }) {
  const { name, about } = callWords(call.name, call.input);
  const sequence = call.endedSequence ?? call.startedSequence ?? call.step.sequence;
  return (
    <li className={call.state === "unknown" ? "eff is-unknown" : "eff"}>
      <StateMark {...markOfCall(call.state)} />
      <button type="button" className="eff-b" onClick={() => onShow(sequence)}>
        <code className="cut block">{about === "" ? name : about}</code>
        <span className="w">
          {name}, step {call.step.number}
          {call.policy === "repeatable" && ", may run again"}
        </span>
        {call.state === "unknown" && (
          <span className="w block">
            <Icon name="warn" small className="inline" /> The worker died during this call. Check whether the call took
            effect before you run it again.
          </span>
        )}
      </button>
      <span className="end num">{whenExactly(call.endedAt ?? call.startedAt ?? call.step.at)}</span>
    </li>
  );
}
