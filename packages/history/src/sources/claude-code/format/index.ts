/** `@skein/history/format`: bytes to typed lines and back. The only code that knows what a line looks like. */
export * from "./content-blocks.ts";
export * from "./file-history-lines.ts";
export * from "./human-prompt.ts";
export * from "../../../scan/json-scan.ts";
export * from "../../../scan/line-splitter.ts";
export * from "./lines.ts";
export * from "./other-files.ts";
export * from "../../../scan/parse-line.ts";
export * from "./patterns.ts";
export * from "./peek-line.ts";
export * from "./plan.ts";
export * from "./todo.ts";
export * from "./tool-inputs.ts";
export * from "./usage-info.ts";
