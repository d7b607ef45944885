export { type PostgresStoreOptions, createPostgresStore } from "./store.ts";
