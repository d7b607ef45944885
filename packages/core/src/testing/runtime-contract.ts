import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { describeAwaits } from "./runtime/awaits-contract.ts";
import { type RuntimeBench, createRuntimeBench } from "./runtime/bench.ts";
import { describeBudgets } from "./runtime/budget-contract.ts";
import { describeCancels, describeModes } from "./runtime/cancel-contract.ts";
import { describeFences } from "./runtime/fences-contract.ts";
import { describePoison } from "./runtime/poison-contract.ts";
import { describeDrafts, describePrompts } from "./runtime/prompts-contract.ts";
import { describeSubagents } from "./runtime/subagents-contract.ts";
import type { RuntimeExceptions, RuntimeUnderTest } from "./runtime/runtime-under-test.ts";

/** Every rule that a runtime keeps. A new one is finished when this passes; what it cannot do needs a reason. */
export function describeRuntime(
  name: string,
  open: () => Promise<RuntimeUnderTest>,
  cannot: RuntimeExceptions = {},
): void {
  describe(`${name}: runtime contract`, { timeout: 120_000 }, () => {
    let opened: { readonly bench: RuntimeBench; readonly under: RuntimeUnderTest } | undefined;
    beforeAll(async () => {
      const under = await open();
      opened = { under, bench: createRuntimeBench(under, await under.store()) };
    });
    afterAll(async () => {
      await opened?.bench.close();
      await opened?.under.close();
    });
    const bench = (): RuntimeBench => {
      if (!opened) throw new Error("The runtime is not open.");
      return opened.bench;
    };
    afterEach(() => bench().settle());

    describe("prompts", () => describePrompts(bench));
    describe("drafts", () => describeDrafts(bench));
    describe("cancels", () => describeCancels(bench));
    describe("queue, steer and interrupt", () => describeModes(bench));
    describe("awaits", () => describeAwaits(bench, cannot));
    describe("a new fence", () => describeFences(bench, cannot));
    describe("poison", () => describePoison(bench));
    describe("budgets", () => describeBudgets(bench, cannot));
    describe("subagents", () => describeSubagents(bench, cannot));
  });
}
