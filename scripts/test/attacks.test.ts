import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tried } from "../attack/attack-table.ts";
import { ATTACKS, FILES } from "../attack/attacks.ts";

const root = join(import.meta.dirname, "../..");

describe("the table of attacks", () => {
  test.each(ATTACKS.map((attack) => [attack.attack, attack] as const))(
    "%s: its file has such a test",
    (_, { file, test: name }) => {
      const text = readFileSync(join(root, "packages", file), "utf8");
      // The tests of contracts are in core.
      const contract = text.includes("describeSandbox")
        ? readFileSync(join(root, "packages/core/src/testing/sandbox-contract.ts"), "utf8")
        : "";
      expect(name.test(text + contract)).toBe(true);
    },
  );

  test("an attack counts as successful if its test fails or is missing", () => {
    const attacks = [
      { attack: "a", expected: "x", file: "server/test/a.test.ts", test: /^a/ },
      { attack: "b", expected: "x", file: "server/test/a.test.ts", test: /^b/ },
      { attack: "c", expected: "x", file: "server/test/missing.test.ts", test: /c/ },
      { attack: "d", expected: "x", file: "server/test/a.test.ts", test: /^d/ },
    ];
    const assertionResults = [
      { fullName: "a holds", status: "passed" },
      { fullName: "b falls", status: "failed" },
      { fullName: "d is skipped", status: "skipped" },
    ];
    const testResults = [{ name: "/x/packages/server/test/a.test.ts", startTime: 0, endTime: 1, assertionResults }];
    expect(tried({ testResults }, attacks).map(({ happened, isHeld }) => [happened, isHeld])).toEqual([
      ["as expected (1 test)", true],
      ["GOT THROUGH: b falls", false],
      ["NO TEST tried it", false],
      ["not tried: this machine lacks what it needs (bubblewrap)", true],
    ]);
  });
});

describe("SECURITY.md", () => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8");
  const paths = [...text.matchAll(/`((?:server|core|adapters|cli|sql|history)\/(?:test|src)\/[\w./-]+)`/g)].map(
    ([, path = ""]) => path,
  );

  test("SECURITY.md names tests that exist", () => {
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(join(root, "packages", path)))).toEqual([]);
  });

  test("every row of the table in SECURITY.md names a test", () => {
    const rows = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| what they"));
    expect(rows.length).toBeGreaterThan(12);
    expect(rows.filter((row) => !/`[\w/.-]+`[^|]*\|$/.test(row))).toEqual([]);
  });

  test("`npm run attack` runs the files of attacks, all of which exist", () => {
    for (const path of FILES) expect(globSync(join(root, path)), path).toHaveLength(1);
  });
});
