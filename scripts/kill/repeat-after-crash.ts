import type { Appended, AppendOptions, Store } from "@skein/core";
import { createIds, isKnownError } from "@skein/protocol";
import { TENANT, createFacts } from "./facts.ts";
import type { Answer, Operation } from "./journal.ts";

export interface RepeatedOperation {
  readonly answer: Answer;
  /** Whether the operation had already happened when it was repeated. */
  readonly happened: boolean;
}

type Wrong = (sentence: string) => void;

/** The number of acknowledged operations that are repeated, to check that they are not done twice. */
const REPEATED = 40;

/**
 * Does what a client and an engine do after a crash: frees the leases of dead owners, and repeats operations. Repeated
 * operations must get the same answer. Afterwards every operation has an answer.
 */
export async function repeatAfterCrash(
  store: Store,
  {
    open,
    operations,
    wrong,
  }: { readonly open: readonly Operation[]; readonly operations: readonly Operation[]; readonly wrong: Wrong },
): Promise<RepeatedOperation[]> {
  for (const owner of await store.owners()) await store.free(owner);
  const repeated: RepeatedOperation[] = [];
  const deleted = deletedIn(operations);
  for (const operation of open) {
    const done = operation.events
      ? await repeatAppend(store, operation, { wrong, deleted: deleted.has(operation.target) })
      : await repeatOther(store, operation);
    operation.answer = done.answer;
    repeated.push(done);
  }
  await repeatAcknowledged(store, operations, wrong);
  return repeated;
}

/** `deleted` is true if the journals contain a deletion of the session. */
async function repeatAppend(
  store: Store,
  operation: Operation,
  { wrong, deleted }: { readonly wrong: Wrong; readonly deleted: boolean },
): Promise<RepeatedOperation> {
  const { op, target, lease, events = [] } = operation;
  const there = await placesOf(store, operation);
  if (there.length !== 0 && there.length !== events.length)
    wrong(
      `An append of ${events.length} events to ${target} was stored in part: ${there.length} of them are in the log.`,
    );
  try {
    const again = await store.append(target, events, optionsOf(operation));
    const first = again.events[0]?.sequence ?? 0;
    if (there.length > 0 && (!again.repeated || again.events[0]?.id !== events[0]?.id))
      wrong(`An append to ${target} is stored, but the repeated append did not return the stored events.`);
    if (lease && !again.repeated) wrong(`An event of a run was written to ${target} with the lease of a dead process.`);
    return { answer: { is: "ok", op, first }, happened: again.repeated };
  } catch (error) {
    if (!isKnownError(error)) throw error;
    if (there.length > 0)
      wrong(`An append to ${target} is stored, but the repeated append was rejected with ${error.code}.`);
    const expected = (lease && error.code === "lease_lost") || (deleted && error.code === "not_found");
    if (!expected) wrong(`A repeated append to ${target} was rejected with ${error.code}: ${error.message}`);
    return { answer: { is: "never", op }, happened: false };
  }
}

function optionsOf({ kind, expect, key, lease }: Operation): AppendOptions {
  return {
    ...(kind !== "create" && !lease && { tenant: TENANT }),
    ...(expect !== undefined && { expect }),
    ...(key && { key }),
    ...(lease && { lease }),
  };
}

async function placesOf(store: Store, { target, events = [] }: Operation): Promise<number[]> {
  const ids = new Set(events.map(({ id }) => id));
  if (!(await store.get(target))) return [];
  return (await store.read(target)).filter(({ id }) => ids.has(id)).map(({ sequence }) => sequence);
}

function deletedIn(operations: readonly Operation[]): ReadonlySet<string> {
  return new Set(operations.filter(({ kind }) => kind === "delete").map(({ target }) => target));
}

/** Finds out from the store whether a delete or a put happened. If not, repeats the delete. A put is not repeated. */
async function repeatOther(
  store: Store,
  { op, kind, target, value, expect = 0 }: Operation,
): Promise<RepeatedOperation> {
  if (kind === "delete") {
    const happened = !(await store.get(target));
    if (!happened) await store.delete(target);
    return { answer: { is: "ok", op }, happened };
  }
  const stored = await store.records.get(TENANT, "note", target);
  const happened = stored?.version === expect + 1 && stored.value === value;
  return {
    answer: happened ? { is: "ok", op, version: stored.version } : { is: "never", op },
    happened,
  };
}

/** Checks that a repeated append gets the stored result, and that a different request with the same key is rejected. */
async function repeatAcknowledged(store: Store, operations: readonly Operation[], wrong: Wrong): Promise<void> {
  const facts = createFacts(createIds());
  const deleted = deletedIn(operations);
  const kept = operations.filter(({ events, target, answer }) => events && answer?.is === "ok" && !deleted.has(target));
  const step = Math.max(1, Math.floor(kept.length / REPEATED));
  for (const [index, operation] of kept.entries()) {
    if (index % step !== 0 && index < kept.length - 5) continue;
    const { target, events = [], key, kind, answer } = operation;
    const same = (again: Appended | string): boolean =>
      typeof again !== "string" &&
      again.repeated &&
      again.events[0]?.id === events[0]?.id &&
      answer?.is === "ok" &&
      again.events[0]?.sequence === answer.first;
    if (!same(await outcome(store.append(target, events, optionsOf(operation)))))
      wrong(`A repeated, acknowledged ${kind} to ${target} did not return the stored events.`);
    if (kind !== "prompt" || !key) continue;
    if (!same(await outcome(store.append(target, [facts.prompt("again")], { tenant: TENANT, key }))))
      wrong(`The key "${key.id}" is no longer known.`);
    const reused = { tenant: TENANT, key: { ...key, fingerprint: "other" } };
    const other = await outcome(store.append(target, [facts.prompt("again")], reused));
    if (other !== "key_reused") wrong(`A different request with the used key "${key.id}" was not rejected.`);
  }
}

/** Returns the appended events, or the code of the rejection. */
async function outcome(append: Promise<Appended>): Promise<Appended | string> {
  try {
    return await append;
  } catch (error) {
    if (!isKnownError(error)) throw error;
    return error.code;
  }
}
