/** `@skein/history/format`: bytes to typed lines and back. The only code that knows what a line looks like. */
export { encodeProjectPath } from "../discover/slug.ts";
export * from "./content-blocks.ts";
export * from "./file-history-lines.ts";
export * from "./human-prompt.ts";
export * from "./json-scan.ts";
export * from "./line-splitter.ts";
export * from "./lines.ts";
export * from "./other-files.ts";
export * from "./parse-line.ts";
export * from "./patterns.ts";
export * from "./peek-line.ts";
export * from "./plan.ts";
export * from "./todo.ts";
export * from "./tool-inputs.ts";
export * from "./usage-info.ts";
