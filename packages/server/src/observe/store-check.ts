import { type FileStore, type Store, type Unserved, unservedSessions } from "@skein/core";

/** How often the check writes to the store. */
const WRITE_MS = 5000;

/** Checks that a store can be read and written. Rejects if reading or writing fails. */
export type StoreCheck = () => Promise<void>;

export function createStoreCheck({ store, id }: { readonly store: Store; readonly id: string }): StoreCheck {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    await store.records.put([{ tenant: "$health", kind: "probe", id, value: null }]);
    await store.records.delete("$health", "probe", id);
    writtenAt = performance.now();
  }

  return async () => {
    await store.check?.();
    if (performance.now() - writtenAt < WRITE_MS) await store.records.get("$health", "probe", id);
    else await (writing ??= write().finally(() => (writing = undefined)));
  };
}

/** Checks that files can be written. A success is cached for `WRITE_MS`. */
export function createFilesCheck(files: FileStore | undefined): (() => Promise<void>) | undefined {
  if (!files?.check) return undefined;
  let known: { readonly at: number; readonly checked: Promise<void> } | undefined;
  return () => {
    if (!known || performance.now() - known.at >= WRITE_MS) {
      known = { at: performance.now(), checked: files.check?.() ?? Promise.resolve() };
      // Failures are not cached, so that recovery is reported immediately.
      known.checked.catch(() => (known = undefined));
    }
    return known.checked;
  };
}

/**
 * Returns a function that lists the sessions that no worker can run. Many requests need this list, so the store is
 * queried at most once a second.
 */
export function createUnserved({ store, now }: { readonly store: Store; readonly now: () => number }) {
  let known: { readonly at: number; readonly sessions: Promise<readonly Unserved[]> } | undefined;
  return (): Promise<readonly Unserved[]> => {
    if (known && performance.now() - known.at < 1000) return known.sessions;
    const sessions = unservedSessions(store.records, now());
    known = { at: performance.now(), sessions };
    sessions.catch(() => (known = undefined));
    return sessions;
  };
}
