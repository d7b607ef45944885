import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkHouse } from "../house/check-house.ts";
import { readSourceTree } from "../house/source-tree.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let folder: string;

/** A small checkout that follows every rule: three packages, and the real list of facts. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "skein-house-"));
  cpSync(join(root, "packages/protocol/src/facts"), join(folder, "packages/protocol/src/facts"), { recursive: true });
  cpSync(join(root, "packages/protocol/src/event.ts"), join(folder, "packages/protocol/src/event.ts"));
  plant("packages/core/package.json", manifest("@skein/core", { ".": "index" }));
  plant("packages/core/src/index.ts", 'export { answer } from "./answer.ts";');
  plant("packages/core/src/answer.ts", "export const answer = 42;");
  plant("packages/history/package.json", manifest("@skein/history", { "./format": "format" }));
  plant("packages/history/src/format.ts", "export const line = 1;");
  plant("packages/server/package.json", manifest("@skein/server", { ".": "index" }));
  plant(
    "packages/server/src/index.ts",
    'import { answer } from "@skein/core";\nimport { line } from "@skein/history/format";\n\nexport const both = [answer, line];',
  );
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `${text}\n`);
}

function manifest(name: string, entries: Record<string, string>, more: object = {}): string {
  const exports = Object.entries(entries).map(([subpath, file]) => [subpath, { "@skein/source": `./src/${file}.ts` }]);
  return JSON.stringify({ name, exports: Object.fromEntries(exports) as object, ...more });
}

const failures = (open = {}): readonly string[] => checkHouse(readSourceTree(folder), open).failures;

test("a checkout without mistakes passes", () => {
  expect(failures()).toEqual([]);
});

describe("a mistake fails with a line that says its place and where the code belongs", () => {
  const lines = (count: number, line: string): string => Array.from({ length: count }, () => line).join("\n");

  const MISTAKES: readonly (readonly [what: string, files: Readonly<Record<string, string>>, sentence: string])[] = [
    [
      "a fact of a run that is constructed outside its module",
      { "packages/server/src/x.ts": '\nexport const fact = { event_type: "session.completed", data: {} };' },
      'packages/server/src/x.ts:2 constructs the fact "session.completed" of a run. Facts of a run are constructed only in packages/core/src/run/: call a function there, or add one.',
    ],
    [
      "a fact whose type is a parameter",
      {
        "packages/server/src/x.ts":
          'export const fact = (event_type: "memory.saved" | "memory.restored", data: object) => ({ event_type, data });',
      },
      'packages/server/src/x.ts:1 constructs the fact "memory.saved" of a run. Facts of a run are constructed only in packages/core/src/run/: call a function there, or add one.',
    ],
    [
      "a second copy of a rule",
      {
        "packages/core/src/run/rules.ts":
          'export const next = (q: { mode: string }[]) => q.find(({ mode }) => mode === "interrupt") ?? q[0];',
        "packages/server/src/x.ts":
          'export const first = (all: { mode: string }[]) => all.find((one) => one.mode === "interrupt") ?? all[0];',
      },
      "packages/server/src/x.ts:1 decides which prompt is next. That belongs in packages/core/src/run/. Use packages/core/src/run/rules.ts:1, which already decides it.",
    ],
    [
      "an export of core that nobody imports",
      {
        "packages/core/src/answer.ts": "export const answer = 42;",
        "packages/core/src/index.ts": 'export { answer } from "./answer.ts";\nexport const spare = 1;',
      },
      'packages/core/src/index.ts:2 exports "spare", which no other package imports from @skein/core. Remove it from packages/core/src/index.ts.',
    ],
    [
      "an export that history/format has through export *, and that nobody imports",
      {
        "packages/history/src/format.ts": 'export const line = 1;\nexport * from "./more.ts";',
        "packages/history/src/more.ts": "export const spare = 1;",
      },
      'packages/history/src/more.ts:1 exports "spare", which no other package imports from @skein/history/format. Remove it from packages/history/src/format.ts.',
    ],
    [
      "a circle of imports of types",
      {
        "packages/server/src/a.ts": 'import type { B } from "./b.ts";\n\nexport type A = B | 1;',
        "packages/server/src/b.ts": 'import type { A } from "./a.ts";\n\nexport type B = A[];',
      },
      "packages/server/src/a.ts:1 is in a circle of imports: packages/server/src/a.ts → packages/server/src/b.ts → packages/server/src/a.ts. Put what both need into a file that imports neither.",
    ],
    [
      "a long function",
      { "packages/server/src/x.ts": `export function long(): void {\n${lines(80, "  work();")}\n}` },
      'packages/server/src/x.ts:1 The function "long" has 82 lines of its own; a function has at most 80. Move a step that has a name of its own into a function.',
    ],
    [
      "a long file",
      { "packages/server/src/x.ts": lines(351, "work();") },
      "packages/server/src/x.ts:1 has 351 lines; a file has at most 350. Move a part that has a name of its own into a file of that name.",
    ],
    [
      "a dialect that has only schemas and no test",
      { "packages/protocol/src/dialects/ag-ui/frames.ts": "export const frames = 1;" },
      'packages/protocol/src/dialects/ag-ui/frames.ts:1 is of the dialect "ag-ui", which has no test. Write its test in packages/server/test/dialects/ag-ui.test.ts, with that protocol\'s own published client.',
    ],
    [
      "a dialect without a test",
      { "packages/server/src/dialects/ag-ui/frames.ts": "export const frames = 1;" },
      'packages/server/src/dialects/ag-ui/frames.ts:1 is of the dialect "ag-ui", which has no test. Write its test in packages/server/test/dialects/ag-ui.test.ts, with that protocol\'s own published client.',
    ],
    [
      "an optional part that the main entry of another package loads immediately",
      {
        "packages/server/package.json": manifest(
          "@skein/server",
          { ".": "index" },
          { peerDependenciesMeta: { pg: { optional: true } } },
        ),
        "packages/server/src/index.ts":
          'import { answer } from "@skein/core";\nimport { line } from "@skein/history/format";\nimport { pool } from "./pool.ts";\n\nexport const both = [answer, line, pool];',
        "packages/server/src/pool.ts": 'import { Pool } from "pg";\n\nexport const pool = Pool;',
        "packages/skein/package.json": manifest("skein", { ".": "index" }),
        "packages/skein/src/index.ts": 'export * from "@skein/server";',
      },
      "packages/server/src/pool.ts:1 imports pg, which is optional in packages/server/package.json, and packages/skein/src/index.ts loads this file immediately. Load it with import() where it is needed, and say in one sentence what to install if it is missing.",
    ],
  ];

  test.each(MISTAKES)("the check of the layout finds %s", (_, files, sentence) => {
    for (const [path, text] of Object.entries(files)) plant(path, text);
    expect(failures()).toEqual([sentence]);
  });
});

describe("allowed code passes", () => {
  const ALLOWED: readonly (readonly [what: string, files: Readonly<Record<string, string>>])[] = [
    [
      "a fact that anyone may append, and one of a run in its module",
      {
        "packages/server/src/x.ts": 'export const fact = { event_type: "prompt.accepted", data: {} };',
        "packages/core/src/run/facts.ts": 'export const fact = { event_type: "session.completed", data: {} };',
      },
    ],
    [
      "a type that names a fact of a run",
      { "packages/server/src/x.ts": 'export type Ended = { event_type: "session.completed" };' },
    ],
    [
      "a function whose lines are empty, or belong to inner functions, a complete switch or comments",
      {
        "packages/server/src/x.ts": [
          "export function outer(kind: 1): void {",
          ...Array.from({ length: 90 }, () => "  // A comment.\n"),
          "  const inner = () => {",
          ...Array.from({ length: 70 }, () => "    work();"),
          "  };",
          "  switch (kind) {",
          "    case 1:",
          ...Array.from({ length: 90 }, () => "      inner();"),
          "  }",
          "}",
        ].join("\n"),
      },
    ],
    [
      "a dialect with its test",
      {
        "packages/server/src/dialects/ag-ui/frames.ts": "export const frames = 1;",
        "packages/server/test/dialects/ag-ui/frames.test.ts": "",
      },
    ],
    [
      "an optional part that is imported with import(), in a type, and in an entry of its own",
      {
        "packages/server/package.json": manifest(
          "@skein/server",
          { ".": "index", "./stores/postgres": "postgres" },
          { peerDependenciesMeta: { pg: { optional: true } } },
        ),
        "packages/server/src/postgres.ts": 'import { Pool } from "pg";\n\nexport const pool = Pool;',
        "packages/server/src/lazy.ts":
          'import type { Pool } from "pg";\n\nexport const load = (): Promise<Pool> => import("pg");',
        "packages/skein/package.json": manifest("skein", { ".": "index" }),
        "packages/skein/src/index.ts": 'export { load } from "../../server/src/lazy.ts";',
      },
    ],
  ];

  test.each(ALLOWED)("the check of the layout allows %s", (_, files) => {
    for (const [path, text] of Object.entries(files)) plant(path, text);
    expect(failures()).toEqual([]);
  });
});

describe("known findings", () => {
  beforeEach(() => plant("packages/server/src/x.ts", Array.from({ length: 351 }, () => "work();").join("\n")));

  test("known findings pass as long as their number does not grow", () => {
    expect(failures({ "long files": 1 })).toEqual([]);
  });

  test("more findings than known fail, and the message lists all of them", () => {
    plant("packages/server/src/y.ts", Array.from({ length: 351 }, () => "work();").join("\n"));
    const [first, ...others] = failures({ "long files": 1 });
    expect(first).toBe("long files: 2 found, 1 known. At least one of these is new:");
    expect(others).toHaveLength(2);
  });

  test("if fewer findings than known are left, a message says the new number", () => {
    expect(checkHouse(readSourceTree(folder), { "long files": 3 }).mended).toEqual([
      'scripts/house/still-open.json: "long files" is 3, but only 1 are left. Set it to 1.',
    ]);
  });
});
