export { readSqliteRecords } from "./read-records.ts";
export { type SqliteStoreOptions, createSqliteStore } from "./store.ts";
