/**
 * Bugs that are planted on purpose, to show that the simulation would find them.
 *
 * They are only in this folder, never in the product.
 */
export const MUTANTS = {
  "no-fence": "the store takes facts that need a lease from a worker that has lost its lease",
  "max-plus-one": "sequences come from MAX()+1, read before the insert",
  "lost-wake-up": "a release puts the session to sleep without checking for events that its worker has not seen",
  "duplicate-terminal": "the end of a run is written again as a new fact if the answer of its append was lost",
  "event-before-commit": "followers are told before a commit that then fails",
  "no-idempotency-key": "the store ignores idempotency keys",
  "repeated-ids": "an append with ids that are already stored is stored again",
  "effect-before-intent": "a tool runs before its start is stored",
  "no-orphan-repair": "a resumed run continues without results for the calls of the worker that died",
  "once-runs-again": "a tool that may run once is run again after a crash",
  "loser-renews": "a lease is prolonged for a worker that has lost it",
  "usage-on-resume": "a resume counts a lost model call although no call is open",
  "cancel-ignored": "a worker that resumes a run does not check whether the run was cancelled",
  "release-without-owner": "a worker that has lost its lease releases the lease of the next worker",
  "read-skips": "a follower sometimes misses the first event after its place",
  "acknowledged-not-stored": "a prompt is acknowledged but sometimes not stored",
  "two-leases": "a session that a worker runs is given to a second worker",
  "two-runs": "an interrupt starts its run before the current one has ended",
  "intent-without-expect": "intents are written without checking whether the log has new events",
  "fork-drops-a-message": "a fork leaves out the first message of its parent",
  "fork-forgets-open-calls": "a fork copies calls without closing them",
  "no-poison": "a run that kills every worker is resumed for ever",
} as const;

export type Mutant = keyof typeof MUTANTS;

export function isMutant(name: string): name is Mutant {
  return Object.hasOwn(MUTANTS, name);
}
