export {
  type ChildCause,
  type ChildEnd,
  type ChildRequest,
  type ChildTerms,
  type GuardedChild,
  createSpawnChild,
} from "./spawn-child.ts";
export { BROKER_SOCKET } from "./claude-room.ts";
