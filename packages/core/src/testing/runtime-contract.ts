import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { describeAwaits } from "./runtime/awaits-contract.ts";
import { type RuntimeFixture, createRuntimeFixture } from "./runtime/runtime-fixture.ts";
import { describeBudgets } from "./runtime/budget-contract.ts";
import { describeCancels, describeModes } from "./runtime/cancel-contract.ts";
import { describeFences } from "./runtime/fences-contract.ts";
import { describePoison } from "./runtime/poison-contract.ts";
import { describeDrafts, describePrompts } from "./runtime/prompts-contract.ts";
import { describeSubagents } from "./runtime/subagents-contract.ts";
import type { RuntimeExceptions, RuntimeUnderTest } from "./runtime/runtime-under-test.ts";

/** Tests every rule of a runtime. A new runtime is finished when these tests pass. An exception needs a reason. */
export function describeRuntime(
  name: string,
  open: () => Promise<RuntimeUnderTest>,
  cannot: RuntimeExceptions = {},
): void {
  describe(`${name}: runtime contract`, { timeout: 120_000 }, () => {
    let opened: { readonly fixture: RuntimeFixture; readonly under: RuntimeUnderTest } | undefined;
    beforeAll(async () => {
      const under = await open();
      opened = { under, fixture: createRuntimeFixture(under, await under.store()) };
    });
    afterAll(async () => {
      await opened?.fixture.close();
      await opened?.under.close();
    });
    const fixture = (): RuntimeFixture => {
      if (!opened) throw new Error("The runtime is not open.");
      return opened.fixture;
    };
    afterEach(() => fixture().settle());

    describe("prompts", () => describePrompts(fixture));
    describe("pieces of unfinished answers (drafts)", () => describeDrafts(fixture));
    describe("cancels", () => describeCancels(fixture));
    describe("queue, steer and interrupt", () => describeModes(fixture));
    describe("calls that wait for a person or client (awaits)", () => describeAwaits(fixture, cannot));
    describe("loss of the lease", () => describeFences(fixture, cannot));
    describe("runs that crash their workers", () => describePoison(fixture));
    describe("budgets", () => describeBudgets(fixture, cannot));
    describe("subagents", () => describeSubagents(fixture, cannot));
  });
}
