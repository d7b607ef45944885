/** Tests the packages before they are packed. `npm run release -- --dry-run` checks the packed files. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { thirdPartyNotices } from "../notices/third-party-notices.ts";
import { releaseChangelog, unreleased } from "../release/changelog.ts";
import { hasHome, publishedManifest, readManifest } from "../release/manifests.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const text = (path: string): string => readFileSync(join(root, path), "utf8");
const folders = readdirSync(join(root, "packages"));
const shared = { ...readManifest(root), version: "3.2.1" };

describe.each(folders)("the package %s", (name) => {
  const directory = `packages/${name}`;
  const manifest = publishedManifest(readManifest(join(root, directory)), shared, directory);

  test("a package has a description, the address of its source, and a list of its files", () => {
    expect(manifest).toMatchObject({
      version: "3.2.1",
      license: "MIT",
      description: expect.stringMatching(/.{20}/),
      repository: { type: "git", url: expect.stringMatching(/^git\+https:/), directory },
      engines: { node: ">=22.18" },
    });
    expect(manifest.keywords?.length).toBeGreaterThan(3);
    expect(manifest.files).toContain("dist");
    expect(manifest).not.toHaveProperty("devDependencies");
  });

  test("a package depends on the same version of other Skein packages", () => {
    const ours = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(([other]) =>
      /^(?:skein$|@skein\/)/.test(other),
    );
    expect(ours.filter(([, version]) => version !== "3.2.1")).toEqual([]);
  });

  test("a package exports only files in dist, and each export has its types first", () => {
    const conditions = Object.values(manifest.exports ?? {});
    expect(conditions.length > 0 || manifest.bin !== undefined).toBe(true);
    for (const one of conditions) {
      expect(Object.keys(one)).toEqual(["types", "default"]);
      expect(one["types"]).toMatch(/^\.\/dist\/.+\.d\.ts$/);
      expect(one["default"]).toMatch(/^\.\/dist\/.+\.js$/);
    }
  });

  test("a package has a README with an example", () => {
    expect(text(`${directory}/README.md`).startsWith(`# ${manifest.name}\n`)).toBe(true);
    expect(exampleOf(name)).toMatch(/^import .+\n[\s\S]+;$/);
  });
});

const exampleOf = (name: string): string =>
  /```ts\n([\s\S]+?)\n```/.exec(text(`packages/${name}/README.md`))?.[1] ?? "";

test("the example of every package's README runs", async () => {
  const home = mkdtempSync(join(tmpdir(), "skein-readme-"));
  // The folder is inside the repository, so that the examples find the packages of the repository.
  const folder = mkdtempSync(join(root, "examples/.readmes-"));
  onTestFinished(() => [home, folder].forEach((one) => rmSync(one, { recursive: true, force: true })));
  for (const name of folders) writeFileSync(join(folder, `${name}.ts`), exampleOf(name));
  // One process runs all examples, because they share their imports.
  const all = folders.map((name) => `await import("./${name}.ts");\nconsole.log("ran ${name}");\n`).join("");
  writeFileSync(join(folder, "all.ts"), all);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME: home, TMPDIR: home, NODE_COMPILE_CACHE };
  const args = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", join(folder, "all.ts")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: home, env, encoding: "utf8" });
  expect(stdout.match(/^ran .+$/gm)).toEqual(folders.map((name) => `ran ${name}`));
});

describe("the changelog", () => {
  const before = "# Changelog\n\n## Unreleased\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n";

  test("a release adds the version, the date and a new section to the changelog", () => {
    const after = releaseChangelog(before, "0.2.0", "2026-02-02");
    expect(after).toContain("## Unreleased\n\n## 0.2.0 (2026-02-02)\n\n- A thing.\n\n## 0.1.0");
    expect(unreleased(after)).toBe("");
  });

  test.each([
    ["a version that the changelog already has", before, "0.1.0", "already has the version 0.1.0"],
    ["something that is not a version", before, "v2", '"v2" is not a version'],
    ["nothing to tell", before.replace("- A thing.\n", ""), "0.2.0", "is empty"],
    ["no section for what is new", "# Changelog\n", "0.2.0", "no section"],
  ])("the changelog rejects %s", (_, changelog, version, sentence) => {
    expect(() => releaseChangelog(changelog, version, "2026-02-02")).toThrow(sentence);
  });

  test("the changelog of this repository can be released", () => {
    expect(unreleased(text("CHANGELOG.md")).length).toBeGreaterThan(100);
  });
});

test("a release with a version is rejected while the repository's address is a placeholder", () => {
  const at = (url: string): boolean => hasHome({ ...shared, repository: { type: "git", url } });
  expect([at("git+https://example.com/OWNER/skein.git"), at("git+https://example.com/us/skein.git")]).toEqual([
    false,
    true,
  ]);
});

test("THIRD-PARTY-NOTICES.md agrees with the output of `npm run notices`", async () => {
  const written = await thirdPartyNotices();
  expect(text("THIRD-PARTY-NOTICES.md")).toBe(written);
  for (const term of ["Business Source License", "Anthropic", "## Code in the console"])
    expect(written).toContain(term);
});

test("only the package with the console contains the third-party notices", () => {
  const bringing = folders.filter((name) =>
    readManifest(join(root, "packages", name)).files?.includes("THIRD-PARTY-NOTICES.md"),
  );
  expect(bringing).toEqual(["server"]);
  expect(existsSync(join(root, "LICENSE"))).toBe(true);
});
