import { expect, test } from "vitest";
import { openApi } from "../../src/http/openapi.ts";

/** The places of a description where a list says nothing about what is in it. */
function openLists(value: unknown, place = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { items } = value as { items?: object };
  const here = items && Object.keys(items).length === 0 ? [place] : [];
  return [...here, ...Object.entries(value).flatMap(([key, part]) => openLists(part, `${place}/${key}`))];
}

test("the description says what is in every list, blocks of messages included", () => {
  const { paths } = openApi("0") as { paths: Record<string, Record<string, unknown>> };
  expect(openLists(paths)).toEqual([]);
  const text = JSON.stringify(paths["/v1/sessions/{session_id}/messages"]?.["post"]);
  for (const type of ["text", "thinking", "tool_use", "tool_result", "image", "document"])
    expect(text).toContain(`"type":{"type":"string","const":"${type}"}`);
});
