export * from "./format/index.ts";
export * from "./discover/discover.ts";
