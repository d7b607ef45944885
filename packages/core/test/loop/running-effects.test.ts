import type { Fact } from "@skein/protocol";
import { expect, test } from "vitest";
import type { Effect } from "../../src/loop/decision.ts";
import { createRunningEffects } from "../../src/loop/running-effects.ts";

const tool = (id: string): Effect => ({ kind: "run-tool", key: `tool/${id}`, toolUseId: id });
const fact: Fact = { event_type: "title.generated", data: { title: "t" } };

/** Creates effects that run until the test ends them. */
function controlled() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const aborted: string[] = [];
  const running = createRunningEffects((effect, signal) => {
    started.push(effect.key);
    signal.addEventListener("abort", () => aborted.push(effect.key));
    return new Promise((resolve) => ends.set(effect.key, () => resolve([fact])));
  });
  return { running, started, aborted, end: (id: string) => ends.get(`tool/${id}`)?.() };
}

test("each effect is started once, and unwanted effects are aborted", () => {
  const { running, started, aborted } = controlled();
  running.match([tool("a"), tool("b")]);
  running.match([tool("b"), tool("c")]);
  expect(started).toEqual(["tool/a", "tool/b", "tool/c"]);
  expect(aborted).toEqual(["tool/a"]);
});

test("an effect that has ended is not started again before its facts are taken", async () => {
  const { running, started, end } = controlled();
  running.match([tool("a"), tool("b")]);
  end("a");
  end("b");
  await running.changed();
  expect(running.take()).toEqual([fact]);
  // This decision knows the outcome of effect "a" only, so it still wants effect "b".
  running.match([tool("b")]);
  expect(started).toEqual(["tool/a", "tool/b"]);
  expect(running.take()).toEqual([fact]);
  running.match([tool("b")]);
  expect(started).toEqual(["tool/a", "tool/b", "tool/b"]);
});

test("an effect that is aborted after it has ended adds no facts", async () => {
  const { running, end } = controlled();
  running.match([tool("a")]);
  end("a");
  await running.changed();
  running.match([]);
  expect(running.take()).toBeUndefined();
});

test("an effect that throws aborts all others, and the waiting caller gets the error", async () => {
  const crash = Promise.withResolvers<readonly Fact[]>();
  let aborted = false;
  const running = createRunningEffects((effect, signal) => {
    if (effect.key === "tool/a") return crash.promise;
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => {});
  });
  running.match([tool("a"), tool("b")]);
  crash.reject(new Error("This should never happen."));
  await expect(running.changed()).rejects.toThrow("This should never happen.");
  expect([aborted, running.busy()]).toEqual([true, false]);
});
