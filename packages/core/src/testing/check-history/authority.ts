import { needsLease } from "@skein/protocol";
import type { Act, History, Report } from "./history.ts";

/**
 * I5: at any time, at most one worker may write the facts of a session that need its lease. A fence is the number of a
 * lease; each new lease of a session has a higher fence.
 */
export function checkAuthority(history: History, report: Report): void {
  const bySession = Map.groupBy(history.acts, ({ sessionId }) => sessionId);
  const claimsAreKnown = history.acts.some(({ kind }) => kind === "claim");
  for (const [sessionId, acts] of bySession) {
    checkFences(sessionId, acts, report);
    if (claimsAreKnown) checkHolders(sessionId, acts, report);
  }
  if (claimsAreKnown) checkCovered(history, bySession, report);
}

/** Checks that fences never decrease in the order of the log, and that each fence has one owner. */
function checkFences(sessionId: string, acts: readonly Act[], report: Report): void {
  const appends = acts.filter(({ kind, first }) => kind === "append" && first !== undefined);
  const owners = new Map<number, string>();
  let newest: Act | undefined;
  for (const act of appends.sort((a, b) => (a.first ?? 0) - (b.first ?? 0))) {
    if (newest && act.fence < newest.fence)
      report("I5", `Session ${sessionId}: fence ${act.fence} wrote after fence ${newest.fence}.`, { act, newest });
    const owner = owners.get(act.fence) ?? act.owner;
    if (owner !== act.owner)
      report("I5", `Session ${sessionId}: ${owner} and ${act.owner} wrote under fence ${act.fence}.`, { act });
    owners.set(act.fence, owner);
    if (!newest || act.fence > newest.fence) newest = act;
  }
}

/**
 * Checks that only the holder of a lease acts, and that nobody gets a lease before it is free. The actions are in the
 * order of their commits.
 */
function checkHolders(sessionId: string, acts: readonly Act[], report: Report): void {
  let holder: Act | null = null;
  let top = 0;
  for (const act of acts) {
    if (act.kind === "claim") {
      if (holder && holder.until > act.at)
        report("I5", `Session ${sessionId}: ${act.owner} got the lease while ${holder.owner} had it.`, { act, holder });
      if (act.fence <= top)
        report("I5", `Session ${sessionId}: fence ${act.fence} was granted after fence ${top}.`, { act });
      top = Math.max(top, act.fence);
      holder = act;
      continue;
    }
    if (act.kind === "free") {
      if (holder?.owner === act.owner) holder = null;
      continue;
    }
    if (!holder || holder.fence !== act.fence || holder.owner !== act.owner) {
      const sentence = `Session ${sessionId}: ${act.kind} by ${act.owner} under fence ${act.fence}, which is not the fence of the current lease.`;
      report("I5", sentence, { act, holder });
      continue;
    }
    holder = act.kind === "release" ? null : act;
  }
}

/** Checks that every fact that needs a lease was accepted under a lease. */
function checkCovered(history: History, bySession: ReadonlyMap<string, readonly Act[]>, report: Report): void {
  for (const { sessionId, events } of history.sessions) {
    const covered = new Set<number>();
    for (const { first, last } of bySession.get(sessionId) ?? [])
      for (let sequence = first ?? 1; sequence <= (last ?? 0); sequence++) covered.add(sequence);
    for (const event of events)
      if (needsLease(event.event_type) && !covered.has(event.sequence))
        report("I5", `Session ${sessionId}: event ${event.sequence} was written without a lease.`, { event });
  }
}
