/** `@skein/history/discover`: which files there are. For who starts often and reads little: it loads nothing else. */
export type { LibraryConfig } from "../../../config.ts";
export { isDataNotFoundError } from "../../../errors.ts";
export type { DataFile, Discovered } from "../../../model/data-file.ts";
export { discover, existingRoots } from "./discover.ts";
export { isCurrent } from "./is-current.ts";
