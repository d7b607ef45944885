import { isKnownError } from "@skein/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { parseInput } from "../../src/sessions/parse-input.ts";

const schema = z.strictObject({
  name: z.string(),
  system_prompt: z.string().optional(),
  count: z.coerce.number().optional(),
  limits: z.strictObject({ max_steps: z.int() }).optional(),
  rules: z.array(z.strictObject({ tool: z.string() })).default([]),
});

function messageOf(input: unknown): string {
  try {
    parseInput(schema, input);
  } catch (error) {
    if (isKnownError(error, "invalid")) return error.message;
    throw error;
  }
  return "";
}

test.each([
  [{ name: "a", sytem_prompt: "x" }, 'Unknown key "sytem_prompt". Did you mean "system_prompt"?'],
  [{ name: "a", systemPrompt: "x" }, 'Unknown key "systemPrompt". Did you mean "system_prompt"?'],
  [{ nme: "a" }, 'Unknown key "nme". Did you mean "name"?'],
  [{ name: "a", limits: { maxstep: 3 } }, 'limits: Unknown key "maxstep". Did you mean "max_steps"?'],
  [{ name: "a", rules: [{ tool: "x", tol: 1 }] }, 'rules.0: Unknown key "tol". Did you mean "tool"?'],
  [{ name: "a", colour: "red" }, 'Unknown key "colour".'],
  [{ name: "a", ["x".repeat(200)]: 1 }, `Unknown key "${"x".repeat(200)}".`],
  [{ name: 1 }, "name: Expected a string, not a number."],
  [{ name: "a", count: "x" }, "count: Expected a number."],
])("input that does not fit is rejected with the place of the error and the nearest key: %j", (input, message) => {
  expect(messageOf(input)).toBe(message);
});
