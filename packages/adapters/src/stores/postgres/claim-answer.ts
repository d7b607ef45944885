import { type Claim, type Lease, sessionNotFound, sessionUnreadable } from "@skein/core";

/** Converts an answer of the database function skein.claim. */
export function claimOf(answer: string, { owner, leaseMs, sessionId }: Omit<Lease, "fence">): Claim {
  const [code, first = "", fence, lastSequence] = answer.split(" ");
  switch (code) {
    case "leased": {
      const lease = { sessionId: first, fence: Number(fence), owner, leaseMs };
      return { kind: "leased", lease, lastSequence: Number(lastSequence) };
    }
    case "busy":
      return { kind: "busy", until: Number(first) };
    case "none":
      return { kind: "none", nextAt: first === "0" ? null : Number(first) };
    case "unreadable":
      throw sessionUnreadable(sessionId);
    default:
      throw sessionNotFound(sessionId);
  }
}
