import { describe, expect, test } from "vitest";
import { Content, ContentBlock, blocksOf, textOf } from "../src/content.ts";

const kept = (text: string): string => JSON.stringify(ContentBlock.parse(JSON.parse(text)));

describe("a block of a known type is checked", () => {
  test.each([
    ["text", { type: "text", text: "hi" }],
    ["text with an unknown field", { type: "text", text: "hi", citations: [{ type: "page" }] }],
    ["thinking", { type: "thinking", thinking: "hm", signature: "s" }],
    ["a tool call", { type: "tool_use", id: "t", name: "bash", input: { command: "ls" } }],
    ["a result as text", { type: "tool_result", tool_use_id: "t", content: "ok" }],
    ["a result as blocks", { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "ok" }] }],
    ["a result without content", { type: "tool_result", tool_use_id: "t", is_error: true }],
    ["an image", { type: "image", source: { type: "url", url: "x" } }],
    ["a document", { type: "document", source: { type: "text", data: "x" } }],
  ])("%s passes unchanged", (_, block) => {
    expect(ContentBlock.parse(block)).toBe(block);
  });

  test.each([
    ["text without text", { type: "text" }, "text"],
    ["text that is a number", { type: "text", text: 5 }, "text"],
    ["thinking without thought", { type: "thinking" }, "thinking"],
    ["a call without a name", { type: "tool_use", id: "t", input: {} }, "name"],
    ["a result without a call id", { type: "tool_result", content: "ok" }, "tool_use_id"],
    ["a result whose content is a number", { type: "tool_result", tool_use_id: "t", content: 5 }, "content"],
    ["an image without a source", { type: "image" }, "source"],
    ["no type", { text: "hi" }, "type"],
    ["a type that is a number", { type: 5 }, "type"],
    ["a list", [], ""],
    ["nothing", null, ""],
  ])("%s is rejected, and the error has its path", (_, block, place) => {
    const { error } = ContentBlock.safeParse(block);
    expect(error?.issues[0]?.path.join(".")).toBe(place);
  });
});

describe("a block of an unknown type passes unchanged", () => {
  test.each([
    ["keys that are not sorted keep their order", '{"b":1,"type":"server_tool_use","a":{"z":1,"y":2}}'],
    ["a key named __proto__ stays a key", '{"type":"x","__proto__":{"polluted":true},"a":1}'],
    ["a type named like a property of every object", '{"type":"constructor","a":1}'],
    ["a type named __proto__", '{"type":"__proto__","a":1}'],
    ["a type of the future", '{"type":"hologram","voxels":[[0,1],[1,0]]}'],
  ])("a block of an unknown type passes unchanged: %s", (_, text) => {
    expect(kept(text)).toBe(text);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a block of an unknown type passes unchanged inside a known block", () => {
    const text = '{"input":{"b":1,"__proto__":{"x":1},"a":2},"name":"bash","id":"t","type":"tool_use","cache":null}';
    expect(kept(text)).toBe(text);
  });
});

test("content is text or a list of blocks", () => {
  expect(Content.safeParse("").success).toBe(true);
  expect(Content.safeParse([]).success).toBe(true);
  for (const content of [null, 5, {}, ["text"], undefined]) expect(Content.safeParse(content).success).toBe(false);
});

test.each([
  ["plain text", "hi", "hi"],
  ["text blocks, joined", [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }], "a\nb"],
  ["a text block without text", [{ type: "text" }], ""],
  ["no blocks", [], ""],
])("textOf joins the text blocks of a message: %s", (_, content, text) => {
  expect(textOf(content)).toBe(text);
});

test("plain text becomes one text block", () => {
  expect(blocksOf("hi")).toEqual([{ type: "text", text: "hi" }]);
});
