import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/http/limits.ts";
import { createSharedPlaces } from "../../src/http/shared-places.ts";

const ever = new AbortController().signal;

test("a waiting statement begins even if the statement before it used its whole time limit", async () => {
  const places = createSharedPlaces({ ...DEFAULT_LIMITS, statements: 1, statementMs: 100 }, () => false);
  const giveBack = await places.statement("a", ever);
  const next = places.statement("a", ever);
  // The time limit of 100 ms ended the statement. Its sandbox ends a moment later.
  await delay(250);
  giveBack();
  expect(await next).toBeTypeOf("function");
});

test("the memory of a large body is free after its processing, immediately for one tenant and after a pause for several tenants", async () => {
  const limits = { ...DEFAULT_LIMITS, bytesInFlight: 1000 };
  const taken = async (isShared: boolean): Promise<number> => {
    const places = createSharedPlaces(limits, () => isShared);
    const giveBack = await places.body("a", 1000);
    await delay(100);
    giveBack();
    return places.queues.bodies.figures().taken;
  };
  expect([await taken(true), await taken(false)]).toEqual([1000, 0]);
});
