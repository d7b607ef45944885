import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLAUDE_ERROR_STATUS } from "../src/dialects/claude/errors.ts";
import { ERROR_STATUS } from "../src/dialects/platform/errors.ts";

test("docs/reference/http.md lists every error code with its status", () => {
  const text = readFileSync(new URL("../../../docs/reference/http.md", import.meta.url), "utf8");
  const [, section = ""] = /### Error codes\n([^]*?)\n## /.exec(text) ?? [];
  const rows = [...section.matchAll(/^\| ([\d ]+) \|(.*)$/gm)];
  const listed = rows.flatMap(([, statuses = "", codes = ""]) =>
    Object.keys(ERROR_STATUS)
      .filter((code) => codes.includes(`\`${code}\``))
      .map((code) => [code, statuses.split(" ").map(Number)] as const),
  );
  const expected = Object.entries(ERROR_STATUS).filter(([code]) => !Object.hasOwn(CLAUDE_ERROR_STATUS, code));
  expect(listed.map(([code]) => code).toSorted()).toEqual(expected.map(([code]) => code).toSorted());
  for (const [code, statuses] of listed)
    expect([code, statuses]).toEqual([code, expect.arrayContaining([Reflect.get(ERROR_STATUS, code)])]);
});
