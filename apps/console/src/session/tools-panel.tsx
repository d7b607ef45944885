import { duration } from "../ui/amounts.ts";
import { Nothing } from "../ui/empty-state.tsx";
import { callWords, troubleWords } from "./call-words.ts";
import type { PanelProps } from "./panel-props.ts";
import type { Call } from "./view.ts";

/** Each tool: number of calls, failures, median duration, and a link to its last call. */
export function ToolsPanel({ view, onShow }: PanelProps) {
  const byName = Map.groupBy(view.calls.values(), ({ name }) => name);
  if (byName.size === 0)
    return (
      <Nothing title="No tools were called" state="idle">
        Calls, failures and times of each tool are listed here.
      </Nothing>
    );
  const rows = [...byName].sort(([, one], [, other]) => other.length - one.length);
  return (
    <table className="tbl ins">
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col" className="r">
            Calls
          </th>
          <th scope="col" className="r">
            Failed
          </th>
          <th scope="col" className="r">
            Median
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, calls]) => (
          <tr key={name}>
            <td>
              <button type="button" className="link cut" onClick={() => onShow(lastPlace(calls))}>
                {callWords(name, null).name}
              </button>
              <NotRun calls={calls} />
            </td>
            <td className="r">{calls.length}</td>
            <td className="r">{failures(calls)}</td>
            <td className="r">{median(calls)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function lastPlace(calls: readonly Call[]): number {
  const last = calls.at(-1);
  return last?.startedSequence ?? last?.step.sequence ?? 0;
}

/** How many calls failed, and how many have an unknown effect. */
function failures(calls: readonly Call[]): string {
  const failed = calls.filter(({ state }) => state === "failed").length;
  const unknown = troubleWords(calls, ["unknown"]);
  return `${failed}${unknown === "" ? "" : `, ${unknown}`}`;
}

/** How many calls did not run, because they were denied or cancelled. */
function NotRun({ calls }: { calls: readonly Call[] }) {
  const words = troubleWords(calls, ["denied", "cancelled"]);
  return words === "" ? null : <span className="lbl block">{words}</span>;
}

const WITHOUT_TIME: ReadonlySet<Call["state"]> = new Set<Call["state"]>(["unknown", "denied", "cancelled"]);

/** The median duration of the calls. Interrupted calls, and calls that were denied or cancelled, have no duration. */
function median(calls: readonly Call[]): string {
  const times = calls
    .flatMap(({ durationMs, state }) => (durationMs === null || WITHOUT_TIME.has(state) ? [] : [durationMs]))
    .sort((one, other) => one - other);
  const middle = times[Math.floor(times.length / 2)];
  return middle === undefined ? "–" : duration(middle);
}
