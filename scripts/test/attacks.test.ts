import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tried } from "../attack/attack-table.ts";
import { ATTACKS, FILES } from "../attack/attacks.ts";

const root = join(import.meta.dirname, "../..");

describe("the table of attacks", () => {
  test.each(ATTACKS.map((attack) => [attack.attack, attack] as const))(
    "the test of the attack %s exists in its file",
    (_, { file, test: name }) => {
      const text = readFileSync(join(root, "packages", file), "utf8");
      // A file that calls `describeSandbox` also runs the tests of the sandbox contract, which are in core.
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
  const rows = readFileSync(join(root, "SECURITY.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| wh(o|at they can try) \|/.test(line));
  const named = rows.flatMap((row) =>
    [...row.matchAll(/`([\w-]+\/(?:test|src)\/[\w./-]+\.ts)`: "([^"]+)"/g)].map(([, file = "", name = ""]) => [
      file,
      name,
    ]),
  );

  test("every row of the tables in SECURITY.md ends with a test", () => {
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((row) => !/ `[\w./-]+\.ts`: "[^"]+" \|$/.test(row))).toEqual([]);
  });

  test.each(named)("the test in %s that SECURITY.md refers to exists: %s", (file, name) => {
    const text = readFileSync(join(root, "packages", file), "utf8");
    const names = [...text.matchAll(/"(?:[^"\\\n]|\\.)*"/g)].map(([quoted]) => quoted);
    expect(names.some((quoted) => quoted.includes(name))).toBe(true);
  });

  test("each file that `npm run attack` runs exists", () => {
    for (const path of FILES) expect(globSync(join(root, path)), path).toHaveLength(1);
  });
});
