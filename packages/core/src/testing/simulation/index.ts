export type { CreateDriver, Driver, DriverDeps, Model, ModelReply, ModelRequest, Tools } from "./driver.ts";
export { createLoopDriver } from "./loop-driver.ts";
export { MUTANTS, type Mutant, isMutant } from "./mutants.ts";
export { type SimulationMode, type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";
