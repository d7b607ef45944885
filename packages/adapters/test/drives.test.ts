import { type Claimed, LEASE_LOST, type Lease, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { createDrives } from "../src/engines/drives.ts";

test(
  "if a runtime ignores the request to stop, the process stops waiting after a time limit",
  { timeout: 10_000 },
  async () => {
    const store = createMemoryStore();
    const script = createScript({ store, ids: createIds() });
    await script.create();
    await script.prompt("hi");
    const asked = Promise.withResolvers<void>();
    const drives = createDrives({
      store,
      runtime: {
        drive: (_, signal) => new Promise(() => signal.addEventListener("abort", () => asked.resolve())),
      },
      leaseMs: 4000,
      stopMs: 20,
      now: Date.now,
      report: () => {},
    });
    drives.begin({ lease: await script.claim(), lastSequence: 2, asked: Date.now() });
    await drives.stop();
    await asked.promise;
    expect(drives.size()).toBe(1);
  },
);

test("a lease that is prolonged during a renewal is renewed with its earlier length, and its loss is noticed", async () => {
  const renewals: { readonly leases: readonly Lease[]; answer(lost: readonly Lease[]): void }[] = [];
  const begun: { readonly claimed: Claimed; readonly signal: AbortSignal }[] = [];
  const drives = createDrives({
    store: {
      ...createMemoryStore(),
      renew: (leases) => new Promise((answer) => void renewals.push({ leases, answer })),
    },
    runtime: {
      drive(claimed, signal) {
        begun.push({ claimed, signal });
        return new Promise((ended) => signal.addEventListener("abort", () => ended()));
      },
    },
    leaseMs: 30,
    now: () => 1000,
    report: () => {},
  });
  for (const sessionId of ["kept", "lost"])
    drives.begin({ lease: { sessionId, fence: 1, owner: "w", leaseMs: 30 }, lastSequence: 1, asked: 1000 });
  drives.start();
  await expect.poll(() => renewals.length).toBeGreaterThan(0);
  for (const { claimed } of begun) claimed.prolong(60_000);
  renewals[0]?.answer(renewals[0].leases.filter(({ sessionId }) => sessionId === "lost"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun.map(({ claimed, signal }) => [claimed.clock.validUntil, signal.reason])).toEqual([
    [1030, undefined],
    [1030, LEASE_LOST],
  ]);
  // The new length counts from the next renewal.
  await expect.poll(() => renewals.find(({ leases }) => leases[0]?.leaseMs === 60_000)).toBeDefined();
  renewals.find(({ leases }) => leases[0]?.leaseMs === 60_000)?.answer([]);
  await expect.poll(() => begun[0]?.claimed.clock.validUntil).toBe(61_000);
  await drives.stop();
});
