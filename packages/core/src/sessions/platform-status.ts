import type { Session } from "@skein/protocol";

/** The platform API's status of a session. */
export type PlatformStatus = "pending" | "running" | "completed" | "failed";

export function platformStatus(session: Pick<Session, "status" | "outcome">): PlatformStatus {
  if (session.status !== "idle") return "running";
  if (session.outcome === null) return "pending";
  return session.outcome === "completed" ? "completed" : "failed";
}
