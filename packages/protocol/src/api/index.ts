export * from "./errors.ts";
export { type Route, type Scope, pathsOf } from "./route.ts";
export * from "./routes.ts";
export { ARROW_STREAM, JSON_LINES } from "./sql-routes.ts";
export * from "./websocket.ts";
export * from "./wire.ts";
