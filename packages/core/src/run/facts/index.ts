/**
 * Constructors for the facts of a run. Every runtime uses these constructors, and
 * packages/core/test/run/fact-constructors.test.ts fails if a fact is constructed elsewhere.
 */
export * from "./call-facts.ts";
export * from "./context-facts.ts";
export * from "./file-facts.ts";
export * from "./message-facts.ts";
export type { FactOf } from "./place.ts";
export * from "./run-facts.ts";
export * from "./runtime-facts.ts";
export * from "./step-facts.ts";
