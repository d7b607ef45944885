export {
  type ChildCause,
  type ChildEnd,
  type ChildRequest,
  type ChildRoom,
  type ChildTerms,
  type GuardedChild,
  createSpawnChild,
} from "./spawn-child.ts";
