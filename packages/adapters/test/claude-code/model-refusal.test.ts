import { expect, test } from "vitest";
import { modelRefusal } from "../../src/runtimes/claude-code/model-refusal.ts";

const MAY = undefined;

test.each([
  ["its own model", { model: "claude-opus-5-5" }, "claude-opus-5-5", MAY],
  ["its own model by a dated name", { model: "claude-opus-5-5" }, "claude-opus-5-5-20261001", MAY],
  ["its own model with a long context", { model: "claude-opus-5-5[1m]" }, "claude-opus-5-5", MAY],
  ["a model of the family in its options", { model: "opus" }, "claude-opus-5-5", MAY],
  ["Claude Code's small model", { model: "opus" }, "claude-haiku-5", MAY],
  ["its fallback model", { model: "opus", fallback_model: "sonnet" }, "claude-sonnet-5-5", MAY],
  [
    "the model of a subagent",
    { model: "opus", agents: { a: { description: "d", prompt: "p", model: "sonnet" as const } } },
    "claude-sonnet-5-5",
    MAY,
  ],
  ["any model if its options have none", {}, "claude-fable-5", MAY],
  [
    "a model that is not in its options",
    { model: "sonnet" },
    "claude-opus-5-5",
    /cannot use the model .*It uses only: sonnet/,
  ],
  [
    "a model that is not in its options, although a subagent inherits the model",
    { model: "sonnet", agents: { a: { description: "d", prompt: "p", model: "inherit" as const } } },
    "claude-opus-5-5",
    /cannot use the model/,
  ],
  [
    "a model that the rules of its key do not allow",
    { rules: { models: ["claude-sonnet-*"] } },
    "claude-opus-5-5",
    /does not let this session use the model "claude-opus-5-5". It may use: claude-sonnet-\*/,
  ],
  ["a model whose family the rules allow", { rules: { models: ["sonnet"] } }, "claude-sonnet-5-5", MAY],
])(
  "when a session calls %s through the broker, the call is allowed, or rejected with the reason",
  (_, options, model, refusal) => {
    const said = modelRefusal(options, { model, current: undefined });
    if (refusal === MAY) expect(said).toBeUndefined();
    else expect(said).toMatch(refusal);
  },
);

test("a model that is set during the session replaces the first model", () => {
  const options = { model: "claude-opus-5-5" } as never;
  expect(modelRefusal(options, { model: "claude-sonnet-5-5", current: "sonnet" })).toBeUndefined();
  expect(modelRefusal(options, { model: "claude-opus-5-5", current: "sonnet" })).toMatch(/uses only: sonnet/);
});
