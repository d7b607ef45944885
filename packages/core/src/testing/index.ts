export type * from "./bench.ts";
export * from "./naughty-text.ts";
export * from "./records-contract.ts";
export * from "./script.ts";
export * from "./store-contract.ts";
