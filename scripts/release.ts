/**
 * `npm run release` checks everything that must be true before the packages are published, and writes the new version.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Packed, packAll, runIn } from "./pack-packages.ts";
import { releaseChangelog, unreleased } from "./release/changelog.ts";
import { checkNames } from "./release/check-names.ts";
import { checkPacked } from "./release/check-packed.ts";
import { hasHome, readManifest } from "./release/manifests.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run release -- --dry-run | VERSION [options]

Builds and packs every package and prints its size, checks the packed files with publint and are-the-types-wrong,
installs them into empty folders on the oldest and the newest Node, runs the examples there (npm run package), and
asks the registry whether the names are free. Nothing is published. To publish, run "npm publish" for each packed
file, with an npm account that owns the names.

  --dry-run       changes nothing in this folder
  VERSION         writes the version into package.json and CHANGELOG.md first; all packages get it
  --out FOLDER    keeps the packed files there (default: they are removed)
  --node VERSION  a version of Node to try; may be given more than once (default: 22.18.0 and 24.21.0)

Examples:
  npm run release -- --dry-run
  npm run release -- 0.1.0 --out packed`;

const root = fileURLToPath(new URL("..", import.meta.url));

/** The oldest Node version that "engines" allows, and the version that the tests use. */
const NODES = ["22.18.0", "24.21.0"];

const NO_HOME =
  'The repository has no public address yet. Replace OWNER in "repository.url" of the root package.json, the only place that names it.';

function main(): void {
  const { values, positionals } = readOptions("release", {
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean" },
      out: { type: "string" },
      node: { type: "string", multiple: true },
      help: { type: "boolean", short: "h" },
    },
  });
  const [version] = positionals;
  if (values.help) return console.log(HELP);
  if ((version === undefined) !== (values["dry-run"] === true)) {
    console.error("Give either --dry-run or a version. npm run release -- --help has examples.");
    process.exitCode = 2;
    return;
  }
  if (version !== undefined) writeVersion(version);
  const place = mkdtempSync(join(tmpdir(), "skein-release-"));
  try {
    const folder = values.out === undefined ? join(place, "packed") : resolve(values.out);
    checkRelease(place, folder, values.node ?? NODES);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function checkRelease(place: string, folder: string, nodes: readonly string[]): void {
  const packed = packAll(folder);
  for (const one of packed) say("packed", sizes(one));
  for (const line of checkPacked(join(place, "tools"), packed)) say("checked", line);
  for (const version of nodes) tryOn(version, place, folder);
  for (const line of checkNames(packed.map(({ name }) => name))) say("name", line);
  const { version } = readManifest(root);
  const changes = unreleased(readFileSync(join(root, "CHANGELOG.md"), "utf8")).split(/^- /m).length - 1;
  say("changelog", `${changes} changes are not released yet`);
  if (!hasHome(readManifest(root))) return say("not ready to publish", NO_HOME);
  say(
    "done",
    `version ${version}. To publish: git tag v${version}, then npm publish FILE --access public for each file.`,
  );
}

/** Writes the version and the changelog. A person must commit them. */
function writeVersion(version: string): void {
  const path = join(root, "package.json");
  const changelog = join(root, "CHANGELOG.md");
  const day = new Date().toISOString().slice(0, 10);
  const text = releaseChangelog(readFileSync(changelog, "utf8"), version, day);
  if (!hasHome(readManifest(root))) throw new Error(NO_HOME);
  writeFileSync(path, readFileSync(path, "utf8").replace(/"version": "[^"]*"/, `"version": "${version}"`));
  writeFileSync(changelog, text);
}

/** Runs `npm run package` on a Node version from npm, with the files that are already packed. */
function tryOn(version: string, place: string, packed: string): void {
  const folder = join(place, `node-${version}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "node-version", private: true }));
  const system = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${system}-${process.arch}`;
  runIn(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", `${name}@${version}`);
  const node = join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  const args = ["--disable-warning=ExperimentalWarning", join(root, "scripts/package.ts"), "--packed", packed];
  const { status, stdout, stderr } = spawnSync(node, args, { cwd: root, encoding: "utf8" });
  process.stdout.write(stdout.replaceAll(/^ok /gm, `ok  Node ${version}:`));
  if (status !== 0) throw new Error(`On Node ${version} the packed files do not work:\n${stderr}`);
}

function sizes({ name, packedBytes, unpackedBytes }: Packed): string {
  const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1000)} kB`;
  return `${name.padEnd(16)} ${kilobytes(packedBytes).padStart(8)} packed ${kilobytes(unpackedBytes).padStart(9)} unpacked`;
}

function say(what: string, text: string): void {
  console.log(`ok  ${what}: ${text}`);
}

main();
