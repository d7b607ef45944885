import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LONG_FILES, longFirst } from "../test-order.ts";

test("long test files start first, and the others keep their order", () => {
  const [first, second] = LONG_FILES.map((name) => `/somewhere/${name}`) as [string, string];
  const given = ["/somewhere/b.test.ts", second, "/somewhere/a.test.ts", first];
  expect(longFirst(given, (path) => path)).toEqual([first, second, "/somewhere/b.test.ts", "/somewhere/a.test.ts"]);
});

test("the list of long test files has only existing files and no file twice", () => {
  const missing = LONG_FILES.filter((name) => !existsSync(fileURLToPath(new URL(`../../${name}`, import.meta.url))));
  expect(missing).toEqual([]);
  expect(new Set(LONG_FILES).size).toBe(LONG_FILES.length);
});
