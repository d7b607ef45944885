export type {
  CreateRuntime,
  SimulatedRuntimeDeps,
  Model,
  ModelReply,
  ModelRequest,
  Tools,
} from "./simulated-runtime.ts";
export { createLoopRuntime } from "./loop-runtime.ts";
export { MUTANTS, type Mutant, isMutant } from "./mutants.ts";
export { type SimulationMode, type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";
