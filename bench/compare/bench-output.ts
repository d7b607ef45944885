/** Reads the output of a benchmark at this or an earlier commit. */
import type { Result } from "../store/results.ts";

export type Line = Pick<Result, "what" | "store" | "value" | "unit">;

/** Reads the output of `--json`, or the table that the benchmark `history` printed before it had `--json`. */
export function linesOf(output: string): readonly Line[] {
  const json = output.split("\n").findLast((line) => line.startsWith("["));
  return json === undefined ? historyTable(output) : (JSON.parse(json) as readonly Line[]);
}

function historyTable(output: string): readonly Line[] {
  return output.split("\n").flatMap((line): Line[] => {
    const [, what = "", ms = "", mb] = /^(\S.*?)\s{2,}([\d.]+)(?:\s{2,}(\d+)(?=\s{2,}|\s*$))?/u.exec(line) ?? [];
    if (what === "") return [];
    const time = { what, store: "", value: Number(ms), unit: "ms" };
    return mb === undefined ? [time] : [time, { what: `${what}, memory`, store: "", value: Number(mb), unit: "MB" }];
  });
}
