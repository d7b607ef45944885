export { readPostgresRecords } from "./read-records.ts";
export { type PostgresStoreOptions, createPostgresStore } from "./store.ts";
