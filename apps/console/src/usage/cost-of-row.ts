import type { UsageRow } from "../api/api.ts";
import { costWords } from "../ui/amounts.ts";

/** Whether the built-in simulation answered all calls of a row. A call of a real model has a cost, or has no price. */
export function isSimulated({ simulated_calls, unpriced_calls, cost_picos }: UsageRow): boolean {
  return simulated_calls > 0 && unpriced_calls === 0 && cost_picos === "0";
}

/** The cost of a row. Usage of the built-in simulation is not usage of the model that the row names. */
export function costOfRow(row: UsageRow): string {
  return isSimulated(row) ? "simulated" : costWords(row.cost_micros, row.unpriced_calls);
}
