export type * from "./bench.ts";
export * from "./bus-contract.ts";
export * from "./check-history.ts";
export * from "./naughty-text.ts";
export * from "./records-contract.ts";
export * from "./script.ts";
export * from "./simulation/index.ts";
export * from "./store-contract.ts";
