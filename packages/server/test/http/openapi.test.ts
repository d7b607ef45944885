import { expect, test } from "vitest";
import { openApi } from "../../src/http/openapi.ts";

interface Described {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<
    string,
    Record<string, { operationId: string; responses: object; parameters: { name: string; in: string }[] }>
  >;
  readonly components: { readonly schemas: Record<string, object> };
}

const api = openApi("0") as unknown as Described;
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((operation) => ({ path, ...operation })),
);

/** Returns the places in the description where a list has no description of its items. */
function openLists(value: unknown, place = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { items } = value as { items?: object };
  const here = items && Object.keys(items).length === 0 ? [place] : [];
  return [...here, ...Object.entries(value).flatMap(([key, part]) => openLists(part, `${place}/${key}`))];
}

function references(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { $ref } = value as { $ref?: unknown };
  return [...(typeof $ref === "string" ? [$ref] : []), ...Object.values(value).flatMap(references)];
}

test("the OpenAPI description describes the items of every list, including message blocks", () => {
  expect(openLists(api)).toEqual([]);
  const text = JSON.stringify(api.components.schemas["ContentBlock"]);
  for (const type of ["text", "thinking", "tool_use", "tool_result", "image", "document"])
    expect(text).toContain(`"type":{"type":"string","const":"${type}"}`);
});

test("all named schemas of the OpenAPI description are defined and used", () => {
  const used = new Set(references(api));
  const defined = Object.keys(api.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect([...used].filter((reference) => reference.startsWith("#/components/schemas/")).toSorted()).toEqual(
    defined.toSorted(),
  );
  expect(defined).toEqual(
    expect.arrayContaining(
      ["Session", "Agent", "AgentInput", "Run", "Message", "Event"].map((name) => `#/components/schemas/${name}`),
    ),
  );
  expect(JSON.stringify(api)).not.toContain("$defs");
});

test("the OpenAPI description has what linters require: a server, ids, errors and parameters of every path", () => {
  expect(api.servers.map(({ url }) => url)).toEqual(["/"]);
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, operationId, responses, parameters } of operations) {
    expect(Object.keys(responses), operationId).toContain("4XX");
    const inPath = parameters.filter((one) => one.in === "path").map(({ name }) => `{${name}}`);
    expect(inPath.toSorted(), operationId).toEqual((path.match(/\{\w+\}/g) ?? []).toSorted());
  }
});
