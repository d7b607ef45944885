/** `@skein/history/discover`: finds the transcripts. It loads nothing else, for programs that must start fast. */
export type { LibraryConfig } from "../../../config.ts";
export { isDataNotFoundError } from "../../../errors.ts";
export type { DataFile, Discovered } from "../../../model/data-file.ts";
export { discover, existingRoots } from "../../discover.ts";
export { sourceOfRoot } from "../../mirror/source-of-root.ts";
export { isCurrent } from "./is-current.ts";
