import type { Store } from "@skein/core";

/** Methods of a store that need a round trip to the data. */
const ROUND_TRIPS = [
  "append",
  "read",
  "claim",
  "renew",
  "release",
  "owners",
  "free",
  "get",
  "list",
  "messages",
  "runs",
  "awaits",
  "checkpoints",
  "readSnapshot",
  "writeSnapshot",
  "delete",
] as const satisfies readonly (keyof Store)[];

/** Returns the same store, and the number of calls of each method that needs a round trip. */
export function counted(store: Store): { readonly store: Store; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const wrapped = Object.fromEntries(
    ROUND_TRIPS.map((name) => [
      name,
      (...args: readonly unknown[]) => {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return (store[name] as (...args: readonly unknown[]) => unknown)(...args);
      },
    ]),
  );
  return { store: { ...store, ...wrapped }, counts };
}
