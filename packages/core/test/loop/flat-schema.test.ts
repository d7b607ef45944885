import { expect, test } from "vitest";
import { flatSchema } from "../../src/loop/flat-schema.ts";

const text = { type: "string" };

test.each([
  [
    "a schema without alternatives is left as it is",
    { type: "object", properties: { a: { anyOf: [text, { type: "null" }] } }, required: ["a"] },
    { type: "object", properties: { a: { anyOf: [text, { type: "null" }] } }, required: ["a"] },
  ],
  [
    "a wish for one of several fields is left to whoever runs the tool",
    {
      type: "object",
      properties: { a: text, b: text, c: text },
      required: ["c"],
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    { type: "object", properties: { a: text, b: text, c: text }, required: ["c"] },
  ],
  [
    "fields of alternatives stand together, and a field that differs may be either",
    {
      oneOf: [
        { type: "object", properties: { kind: { const: "url" }, url: text }, required: ["kind", "url"] },
        { type: "object", properties: { kind: { const: "file" }, file: text }, required: ["kind", "file"] },
      ],
    },
    {
      type: "object",
      properties: { kind: { anyOf: [{ const: "url" }, { const: "file" }] }, url: text, file: text },
      required: ["kind"],
    },
  ],
  [
    "parts that all hold are one, references included",
    {
      type: "object",
      $defs: { page: { properties: { page: { type: "integer" } }, required: ["page"] } },
      allOf: [{ $ref: "#/$defs/page" }, { properties: { a: text } }],
    },
    {
      type: "object",
      $defs: { page: { properties: { page: { type: "integer" } }, required: ["page"] } },
      properties: { page: { type: "integer" }, a: text },
      required: ["page"],
    },
  ],
  [
    "what makes no sense is dropped",
    { type: "object", anyOf: [null, 5, { $ref: "#/nowhere" }] },
    { type: "object", properties: {} },
  ],
])("%s", (_, schema, flat) => {
  expect(flatSchema(schema)).toEqual(flat);
});
