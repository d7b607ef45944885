import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { withTables } from "../protocol-tables.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const text = (path: string): string => readFileSync(join(root, path), "utf8");
const inFolder = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
const pages = [
  ...inFolder("."),
  ...globSync("docs/**/*.md", { cwd: root }),
  "examples/README.md",
  ...globSync("{packages,apps,examples}/*/*.md", { cwd: root }),
];

const { scripts } = JSON.parse(text("package.json")) as { scripts: Record<string, string> };

describe("every npm script in a document exists, and the file that it runs exists", () => {
  const named = pages.flatMap((page) =>
    [...text(page).matchAll(/npm (?:run ([a-z:-]+)\b(?! -w)|(start|test)\b)/g)].map(([, run, own = ""]) => ({
      page,
      name: run ?? own,
    })),
  );
  test.each(named)("the npm script that $page names exists: $name", ({ name }) => {
    expect(Object.keys(scripts)).toContain(name);
    const file = /[\w./-]+\.(?:ts|js)/.exec(scripts[name] ?? "")?.[0];
    if (file !== undefined) expect(existsSync(join(root, file)), file).toBe(true);
  });
});

test("the README has exactly two set-up commands", () => {
  const commands = [...text("README.md").matchAll(/```sh\n([^`]+)```/g)].map(([, command]) => command?.trim());
  expect(commands).toEqual(["npm install && npm start", "npm install && npm test"]);
});

describe("every link between documents has a target", () => {
  const links = pages.flatMap((page) =>
    [...text(page).matchAll(/\]\(([^)]+)\)|<img src="([^"]+)"/g)].map(([, link, picture]) => ({
      page,
      target: link ?? picture ?? "",
    })),
  );
  test.each(links.filter(({ target }) => !/^https?:/.test(target)))(
    "the link from $page to $target has a target",
    ({ page, target }) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      expect(existsSync(join(root, file))).toBe(true);
      if (anchor === undefined) return;
      const headings = [...text(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(headings).toContain(anchor);
    },
  );
});

test("every document in docs except the decisions can be reached from docs/README.md", () => {
  const reached = new Set<string>(["docs/README.md"]);
  // The loop also visits the pages that it adds to the set.
  for (const page of reached)
    for (const [, target = ""] of text(page).matchAll(/\]\(([^)#]+\.md)/g)) {
      const file = join(dirname(page), target);
      if (!/^https?:/.test(target) && file.startsWith("docs/")) reached.add(file);
    }
  const documents = globSync("docs/**/*.md", { cwd: root, exclude: ["docs/decisions/**"] });
  expect(documents.filter((document) => !reached.has(document))).toEqual([]);
});

test("docs/reference/settings.md has every key of skein.config.ts and every environment variable that Skein reads", () => {
  const named = [...text("docs/reference/settings.md").matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );
  const isVariable = (name: string): boolean => /^[A-Z]/.test(name);
  const [, keys = ""] =
    /refuseUnknown\(\s*loaded\.default,\s*\[([^\]]+)\]/.exec(text("packages/skein/src/serve/config-file.ts")) ?? [];
  expect(named.filter((name) => !isVariable(name)).toSorted()).toEqual(
    [...keys.matchAll(/"(\w+)"/g)].map(([, key = ""]) => key).toSorted(),
  );
  // Two kinds of variables are documented in other pages: folders of coding agents, and keys of other models.
  const files = ["packages/skein/src/config.ts", ...globSync("packages/cli/src/terminal/*.ts", { cwd: root })];
  const read = new Set(
    files.flatMap((file) => [...text(file).matchAll(/\benv\["([A-Z_\d]+)"\]/g)].map(([, name = ""]) => name)),
  );
  const elsewhere = ["OPENAI_API_KEY", "CLAUDE_CONFIG_DIR", "CODEX_HOME"];
  read.delete("PATH");
  expect(named.filter((name) => isVariable(name) && !elsewhere.includes(name)).toSorted()).toEqual(
    [...read].toSorted(),
  );
});

test("examples/README.md lists every example", () => {
  const there = readdirSync(join(root, "examples")).filter((name) => name !== "README.md" && name !== "test");
  const listed = [...text("examples/README.md").matchAll(/\]\(([\w.-]+)/g)].map(([, name = ""]) => name);
  expect(there.filter((name) => !listed.includes(name))).toEqual([]);
});

describe("every path in a document exists", () => {
  const FROM_ROOT = /(?<![\w/.@-])(?:packages|apps|scripts|bench|docs|examples)\/[\w./*-]*[\w*]/g;
  const FILE_NAME = /`([\w./-]+\.(?:tsx?|js|md|wat))`/g;
  /** Files of users, of packages that we use, and files that commands create. */
  const FOREIGN = ["skein.config.ts", "diff/lib/diff/array.js", "apps/console/dist", "apps/console/pictures"];
  const files = globSync("{*,{packages,apps,scripts,bench,docs,examples}/**/*}.{ts,tsx,js,md,wat}", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });

  /** A path with NAME is a pattern for new files. */
  const isChecked = (path: string): boolean => !path.includes("NAME") && !FOREIGN.includes(path);
  const isThere = (path: string): boolean =>
    path.includes("*") ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path));
  /** Finds a file name without its folder, because the sentence around it may say the folder. */
  const isSomewhere = (path: string): boolean => files.some((file) => file === path || file.endsWith(`/${path}`));

  test.each(pages)("every path in %s exists", (page) => {
    const paths = [...text(page).matchAll(FROM_ROOT)].map(([path]) => path);
    const names = [...text(page).matchAll(FILE_NAME)].map(([, name = ""]) => name);
    expect(paths.filter((path) => isChecked(path) && !isThere(path))).toEqual([]);
    expect(names.filter((name) => isChecked(name) && !isSomewhere(name) && !isThere(name))).toEqual([]);
  });
});

describe("code in documents is valid", () => {
  const snippets = pages.flatMap((page) =>
    [...text(page).matchAll(/```ts\n([^`]+)```/g)].map(([, code = ""], index) => ({ page, index, code })),
  );

  test("code in documents type-checks", { timeout: 120_000 }, () => {
    // The snippets are inside the repository, so that imports of its packages work.
    const folder = mkdtempSync(join(root, "examples/.snippets-"));
    try {
      const files = snippets.map(({ page, index, code }) => {
        const file = join(folder, `${page.replaceAll(/[^\w]/g, "-")}-${index}.ts`);
        writeFileSync(file, code);
        return file;
      });
      writeFileSync(
        join(folder, "tsconfig.json"),
        JSON.stringify({
          extends: join(root, "tsconfig.tests.json"),
          // Unchanged files are not checked again.
          compilerOptions: {
            incremental: true,
            tsBuildInfoFile: join(root, "node_modules/.cache/skein-snippets.tsbuildinfo"),
          },
          include: [],
          files,
        }),
      );
      const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
      expect(stdout.split("\n").filter((line) => line.includes(".snippets-"))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("the code of the README is the example first-session.ts, which runs", () => {
    const [readme] = snippets.filter(({ page }) => page === "./README.md");
    expect(text("examples/first-session.ts")).toContain(readme?.code ?? "nothing");
    const args = ["--conditions=@skein/source", "examples/first-session.ts"];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^The answer is 4\b/);
  });
});

test("the tables of PROTOCOL.md agree with the code; `npm run conformance` updates them", () => {
  expect(withTables(text("PROTOCOL.md"))).toBe(text("PROTOCOL.md"));
});

test("each decision has a unique number, the same number in its title, and a line in the index", () => {
  const index = "docs/decisions/README.md";
  const decisions = inFolder("docs/decisions")
    .filter((page) => page !== index)
    .map((page) => ({ page, number: /\/(\d{3})-/.exec(page)?.[1] ?? page }));
  expect(decisions.filter(({ number }, index) => decisions.findIndex((one) => one.number === number) < index)).toEqual(
    [],
  );
  expect(decisions.filter(({ page, number }) => !text(page).startsWith(`# ${number}: `))).toEqual([]);
  expect(decisions.filter(({ page }) => !text(index).includes(`(${page.slice("docs/decisions/".length)})`))).toEqual(
    [],
  );
});

test("every decision that a comment refers to exists", () => {
  const files = globSync("{packages,apps,scripts}/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  const named = files.flatMap((file) =>
    [...text(file).matchAll(/\b[Dd]ecision(?:s\/|\s(?:\*\s)?)(\d{3})\b/g)].map(([, number = ""]) => ({ file, number })),
  );
  expect(named.length).toBeGreaterThan(40);
  const index = text("docs/decisions/README.md");
  expect(named.filter(({ number }) => !index.includes(`[${number}](`))).toEqual([]);
});

test("no file calls a specification a seed", () => {
  const files = globSync("{*,{packages,apps,scripts,bench,docs,examples}/**/*}.{ts,tsx,md}", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => /\bseeds? 00\d/i.test(text(file)))).toEqual([]);
});

test("ARCHITECTURE.md lists every package", () => {
  const packages = readdirSync(join(root, "packages"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const named = new Set([...text("ARCHITECTURE.md").matchAll(/`packages\/(\w+)`/g)].map(([, name]) => name));
  expect(packages.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
});
