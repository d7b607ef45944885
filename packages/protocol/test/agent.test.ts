import { describe, expect, test } from "vitest";
import { AgentConfig, NewAgentConfig, Tags } from "../src/agent.ts";

const minimal = { name: "Helper", model: "claude-sonnet-4-5" };
const valid = (extra: Record<string, unknown>): boolean => AgentConfig.safeParse({ ...minimal, ...extra }).success;

test("an agent needs a name and a model, and all other fields have the defaults of the agent tables", () => {
  expect(AgentConfig.parse(minimal)).toMatchObject({
    ...minimal,
    description: null,
    runtime: "loop",
    system_prompt: "",
    max_steps: 50,
    thinking_tokens: 0,
    max_tokens: 2048,
    tool_schemas: [],
    server_tools: [],
    beta_headers: [],
    api_kwargs: {},
    formatter: "json",
    stream_meta_history_and_tool_results: false,
    compactor_type: "none",
    memory_store_type: "none",
    max_retries: 5,
    base_delay: 1,
    max_cost_micros: null,
    extras: {},
  });
});

describe("component types are accepted in two spellings, and stored as registry names", () => {
  test.each([
    ["formatter", "XmlFormatter", "xml"],
    ["formatter", "xml", "xml"],
    ["formatter", "RawFormatter", "raw"],
    ["compactor_type", "ToolResultRemovalCompactor", "tool_result_removal"],
    ["compactor_type", "tool_result_removal", "tool_result_removal"],
    ["compactor_type", "SlidingWindowCompactor", "sliding_window"],
    ["compactor_type", "NoneCompactor", "none"],
    ["memory_store_type", "PlaceholderMemoryStore", "placeholder"],
    ["memory_store_type", "placeholder", "placeholder"],
    ["memory_store_type", "FullTextMemoryStore", "full_text"],
  ] as const)("the %s %s is stored as %s", (key, spelled, registered) => {
    expect(AgentConfig.parse({ ...minimal, [key]: spelled })[key]).toBe(registered);
  });

  test.each(["formatter", "compactor_type", "memory_store_type"])("an unknown %s is rejected", (key) => {
    expect(NewAgentConfig.safeParse({ ...minimal, [key]: "frobnicator" }).success).toBe(false);
    expect(valid({ [key]: 5 })).toBe(false);
  });

  test("an agent memory that the program defines is stored under its name", () => {
    expect(AgentConfig.parse({ ...minimal, memory_store_type: "my_notes" }).memory_store_type).toBe("my_notes");
  });
});

test.each([
  ["name", "", false],
  ["name", "n".repeat(255), true],
  ["name", "n".repeat(256), false],
  ["name", "a\0b", false],
  ["name", "\ud800", false],
  ["model", "m".repeat(100), true],
  ["model", "m".repeat(101), false],
  ["max_steps", 0, false],
  ["max_steps", 1, true],
  ["max_steps", 1000, true],
  ["max_steps", 1001, false],
  ["max_steps", 1.5, false],
  ["thinking_tokens", -1, false],
  ["max_tokens", 0, false],
  ["max_retries", 0, true],
  ["max_retries", 101, false],
  ["base_delay", -0.1, false],
  ["base_delay", 0.5, true],
  ["max_cost_micros", -1, false],
  ["max_cost_micros", 0.5, false],
  ["runtime", "claude-code", true],
  ["runtime", "python", false],
  ["tool_schemas", [{ name: "a b", input_schema: {} }], false],
  ["tool_schemas", [{ name: "bash", input_schema: {}, strict: true }], true],
])("%s may be %j: %s", (key, value, allowed) => {
  expect(valid({ [key]: value })).toBe(allowed);
});

test.each([
  ["50 tags", Array.from({ length: 50 }, (_, i) => `t${i}`), true],
  ["51 tags", Array.from({ length: 51 }, (_, i) => `t${i}`), false],
  ["an empty tag", [""], false],
  ["a tag of 100 characters", ["t".repeat(100)], true],
  ["a tag of 101 characters", ["t".repeat(101)], false],
])("tags: %s", (_, tags, allowed) => {
  expect(Tags.safeParse(tags).success).toBe(allowed);
});
