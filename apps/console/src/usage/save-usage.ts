import type { UsageRow } from "../api/api.ts";
import { csvOf } from "../ui/csv.ts";
import { saveFile } from "../ui/save-file.ts";
import type { UsageKey } from "./usage-keys.ts";

/** Saves usage as a CSV file with a line for each day and model, agent, project or API key. */
export function saveUsage(name: string, by: UsageKey, byDay: readonly UsageRow[]): void {
  const table = byDay.map((row) => [
    row.key,
    row.second_key ?? "",
    row.runs,
    row.input_tokens,
    row.output_tokens,
    row.cache_read_input_tokens,
    row.cache_creation_input_tokens,
    row.cost_micros / 1e6,
  ]);
  const columns = [
    "day",
    by === "tool" ? "model" : by,
    "runs",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "usd",
  ];
  saveFile(name, new Blob([csvOf(columns, table)], { type: "text/csv" }));
}
