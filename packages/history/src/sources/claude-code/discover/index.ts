/** `@skein/history/discover`: finds the transcripts. For programs that must start fast, it loads no other modules. */
export type { LibraryConfig } from "../../../config.ts";
export { isDataNotFoundError } from "../../../errors.ts";
export type { DataFile, Discovered } from "../../../model/data-file.ts";
export { discover, existingRoots } from "../../discover.ts";
export { sourceOfRoot } from "../../mirror/source-of-root.ts";
export { isCurrent } from "./is-current.ts";
