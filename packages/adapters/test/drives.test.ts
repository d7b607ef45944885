import { createMemoryStore } from "@skein/core";
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
