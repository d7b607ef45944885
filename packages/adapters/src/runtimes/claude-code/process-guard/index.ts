export { type ChildCause, type ChildEnd, type ChildTerms, type GuardedChild, createSpawnChild } from "./spawn-child.ts";
export { BROKER_SOCKET, type ChildRequest, PROXY_SOCKET } from "./claude-room.ts";
