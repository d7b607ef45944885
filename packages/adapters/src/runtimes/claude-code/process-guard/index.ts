export { type ChildCause, type ChildEnd, type ChildTerms, type GuardedChild, createSpawnChild } from "./spawn-child.ts";
export { BROKER_SOCKET, type ChildRequest } from "./claude-places.ts";
