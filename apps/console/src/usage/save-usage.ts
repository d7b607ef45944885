import type { UsageRow } from "../api/api.ts";
import { csvOf } from "../ui/csv.ts";
import { saveFile } from "../ui/save-file.ts";

interface UsageOfDay {
  readonly day: string;
  readonly models: readonly UsageRow[];
}

/** Saves usage as a CSV file with a line for each day and model. */
export function saveUsage(name: string, byDay: readonly UsageOfDay[]): void {
  const table = byDay.flatMap(({ day, models: all }) =>
    all.map((row) => [
      day,
      row.key,
      row.runs,
      row.input_tokens,
      row.output_tokens,
      row.cache_read_input_tokens,
      row.cache_creation_input_tokens,
      row.cost_micros / 1e6,
    ]),
  );
  const columns = [
    "day",
    "model",
    "runs",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "usd",
  ];
  saveFile(name, new Blob([csvOf(columns, table)], { type: "text/csv" }));
}
