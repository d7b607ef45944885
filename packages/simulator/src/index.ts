export { createSimulator, type Simulator, type SimulatorOptions } from "./simulator.ts";
export { script, type Step } from "./script.ts";
export type { Call, CallFilter, Ledger, Outcome, Totals } from "./ledger.ts";
