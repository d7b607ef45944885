export { readFolderRecords } from "./record-file.ts";
export { type FilesystemStore, type FilesystemStoreDeps, createFilesystemStore } from "./store.ts";
export type { Processes } from "./process-lock.ts";
