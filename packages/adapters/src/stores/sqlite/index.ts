export { type SqliteStoreOptions, createSqliteStore } from "./store.ts";
