import type { UsageRow } from "../api/api.ts";
import { plural } from "../ui/amounts.ts";
import { isSimulated } from "./cost-of-row.ts";
import { sum } from "./sums.ts";

/** Notes about missing and estimated figures. */
export function UsageNotes({ rows }: { rows: readonly UsageRow[] }) {
  const calls = (count: number): string => plural(count, "model call");
  const unpriced = sum(rows, (row) => row.unpriced_calls);
  // A simulated call that broke off costs nothing either.
  const estimated = sum(rows, (row) => (isSimulated(row) ? 0 : row.estimated_calls));
  const simulated = sum(rows, (row) => row.simulated_calls);
  const notes = [
    unpriced > 0 && `${calls(unpriced)} without a price: not in the cost.`,
    estimated > 0 && `${calls(estimated)} broke off: ${estimated === 1 ? "its" : "their"} cost is estimated.`,
    simulated > 0 && `${calls(simulated)} simulated: ${simulated === 1 ? "it" : "they"} cost nothing.`,
  ].filter((note) => note !== false);
  return notes.length === 0 ? null : (
    <p className="lbl">{[...notes, "The calls that write the titles of sessions are counted too."].join(" ")}</p>
  );
}
