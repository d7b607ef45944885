import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = ["protocol", "core", "adapters", "history", "sql", "simulator", "server", "client", "cli"] as const;

/** The table of ARCHITECTURE.md: which packages of Skein the files of a folder may import. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "packages/protocol/src": [],
  "packages/core/src": ["@skein/protocol"],
  "packages/client/src": ["@skein/protocol"],
  "apps/console/src": ["@skein/client", "@skein/protocol"],
  "packages/history/src": ["@skein/protocol"],
  "packages/simulator/src": ["@skein/protocol"],
  "packages/server/src": ["@skein/core", "@skein/protocol"],
  "packages/sql/src": ["@skein/core", "@skein/history", "@skein/protocol"],
  "packages/adapters/src/stores/sqlite": ["@skein/core", "@skein/protocol"],
  "packages/skein/src": ["@skein/protocol", "@skein/core", "@skein/adapters", "@skein/simulator", "@skein/client"],
  "packages/adapters/src/runtimes": ["@skein/core", "@skein/protocol", "@skein/history/format"],
};

/** Some modules of Node, and whether the files of a folder may import them. */
const NODE: readonly (readonly [folder: string, module: string, refused: RegExp | null])[] = [
  ["packages/protocol/src", "node:fs", /runs in browsers/],
  ["packages/protocol/src", "node:fs/promises", /runs in browsers/],
  ["packages/client/src", "node:http", /runs in browsers/],
  ["apps/console/src", "node:fs", /runs in browsers/],
  ["packages/core/src", "node:fs", /no I\/O of its own/],
  ["packages/core/src", "node:fs/promises", /no I\/O of its own/],
  ["packages/core/src", "node:child_process", /no I\/O of its own/],
  ["packages/core/src", "node:crypto", null],
  ["packages/core/src/testing", "node:fs", null],
  ["packages/adapters/src/stores/sqlite", "node:sqlite", null],
  ["packages/history/src", "node:fs/promises", null],
  ["packages/simulator/src", "node:http", null],
  ["packages/server/src", "node:http", null],
];

/** Optional parts of the library. If the library imported them statically, every user would have to install them. */
const OPTIONAL: readonly (readonly [folder: string, module: string, refused: RegExp | null])[] = [
  "@skein/adapters/mcp",
  "@skein/adapters/buses/redis",
  "@skein/adapters/stores/postgres",
  "@skein/adapters/memories/postgres",
].map((module) => ["packages/skein/src", module, /optional part: load it through/]);

interface Planted {
  readonly file: string;
  readonly folder: string;
  readonly module: string;
  /** The expected message of the rule; null if the import is allowed. */
  readonly refused: RegExp | null;
}

const OTHERS = [...PACKAGES.map((name) => `@skein/${name}`), "@skein/history/format", "skein"];
const owner = (folder: string): string =>
  folder.startsWith("packages/skein/") ? "skein" : `@skein/${folder.split("/")[1]}`;

const planted: readonly Planted[] = [
  ...Object.entries(ALLOWED).flatMap(([folder, allowed]) =>
    OTHERS.filter((module) => module !== owner(folder)).map((module) => ({
      folder,
      module,
      refused: isAllowed(module, allowed) ? null : /Allowed here: |optional part/,
    })),
  ),
  ...[...NODE, ...OPTIONAL].map(([folder, module, refused]) => ({ folder, module, refused })),
].map((plant, number) => ({ ...plant, file: `${plant.folder}/planted-${number}.ts` }));

function isAllowed(module: string, allowed: readonly string[]): boolean {
  // An entry such as `@skein/core` also allows its subpaths. An entry can also be a single subpath.
  return allowed.some((name) => module === name || module.startsWith(`${name}/`));
}

interface Diagnostic {
  readonly filename: string;
  readonly code: string;
  readonly message: string;
  readonly help?: string;
}

let folder: string;
let diagnostics: readonly Diagnostic[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "skein-imports-"));
  copyFileSync(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  for (const { file, module } of planted) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `import { thing } from "${module}";\n\nexport const used = thing;\n`);
  }
  const { stdout } = spawnSync(join(root, "node_modules/.bin/oxlint"), ["--format=json"], {
    cwd: folder,
    encoding: "utf8",
  });
  ({ diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const said = (file: string): string =>
  diagnostics
    .filter(({ filename, code }) => filename.endsWith(file) && code.includes("no-restricted-imports"))
    .map(({ message, help }) => `${message} ${help ?? ""}`)
    .join("\n");

describe("the linter rejects an import that the table does not allow", () => {
  const refused = planted.filter((plant) => plant.refused);
  test.each(refused)("$folder may not import $module", ({ file, refused: sentence }) => {
    expect(said(file)).toMatch(sentence as RegExp);
  });
});

describe("an import that the table allows passes", () => {
  const allowed = planted.filter((plant) => !plant.refused);
  test.each(allowed)("$folder may import $module", ({ file }) => {
    expect(said(file)).toBe("");
  });
});

test("every folder with an import rule in the lint configuration is in the table of this test", () => {
  const { overrides } = JSON.parse(readFileSync(join(root, ".oxlintrc.json"), "utf8")) as {
    overrides: { files: string[]; rules: Record<string, unknown> }[];
  };
  const ruled = overrides
    .filter(({ rules }) => Array.isArray(rules["no-restricted-imports"]))
    .flatMap(({ files }) => files);
  for (const pattern of ruled) {
    const path = pattern.replace("/**", "");
    expect(
      Object.keys(ALLOWED).some((known) => known.startsWith(path)),
      `${pattern} has an import rule but no line in ALLOWED.`,
    ).toBe(true);
  }
});
