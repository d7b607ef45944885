export { type Containment, findContainment } from "./containment.ts";
export {
  type ChildCause,
  type ChildEnd,
  type ChildRequest,
  type ChildTerms,
  type GuardedChild,
  createSpawnChild,
} from "./spawn-child.ts";
