import { expect, test } from "vitest";
import { flatSchema } from "../../src/loop/flat-schema.ts";

const text = { type: "string" };

test.each([
  [
    "a schema without alternatives is unchanged",
    { type: "object", properties: { a: { anyOf: [text, { type: "null" }] } }, required: ["a"] },
    { type: "object", properties: { a: { anyOf: [text, { type: "null" }] } }, required: ["a"] },
  ],
  [
    "alternatives of required fields are removed",
    {
      type: "object",
      properties: { a: text, b: text, c: text },
      required: ["c"],
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    { type: "object", properties: { a: text, b: text, c: text }, required: ["c"] },
  ],
  [
    "the result has the fields of all alternatives, and a field that differs may have either schema",
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
    "the parts of allOf are merged, references included",
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
    "invalid alternatives are dropped",
    { type: "object", anyOf: [null, 5, { $ref: "#/nowhere" }] },
    { type: "object", properties: {} },
  ],
])("%s", (_, schema, flat) => {
  expect(flatSchema(schema)).toEqual(flat);
});
