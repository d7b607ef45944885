import { expect, test } from "vitest";
import { createFirstPrompts } from "../src/api/first-prompts.ts";

test("a first prompt is requested once, even if lists are rendered again before it arrives", async () => {
  const requests: (readonly string[])[] = [];
  const { promise: answer, resolve } = Promise.withResolvers<ReadonlyMap<string, string | null>>();
  const api = {
    firstPrompts: (ids: readonly string[]) => {
      requests.push(ids);
      return answer;
    },
  };
  const prompts = createFirstPrompts();
  const render = (...ids: readonly string[]) => ids.map((id) => prompts.of({ id }, api));
  expect(render("a", "b", "a")).toEqual([undefined, undefined, undefined]);
  await expect.poll(() => requests).toEqual([["a", "b"]]);
  render("a", "b", "c");
  await expect.poll(() => requests).toHaveLength(2);
  expect(requests).toEqual([["a", "b"], ["c"]]);
  resolve(new Map([["a", "Count the lemons"]]));
  await expect.poll(() => render("a", "b", "c")).toEqual(["Count the lemons", null, null]);
  expect(requests).toHaveLength(2);
});
