import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Manifest, publishedManifest, readManifest } from "./release/manifests.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A packed package, with its sizes in bytes. */
export interface Packed {
  readonly name: string;
  readonly file: string;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

/** Builds every package and packs it into a folder, as it would be published. */
export function packAll(destination: string): readonly Packed[] {
  mkdirSync(destination, { recursive: true });
  runIn(root, join(root, "node_modules/.bin/tsc"), "-b", "--force");
  // The package of the server contains the console, which is not a package on npm.
  runIn(root, "npm", "run", "build", "--silent", "--workspace", "@skein/console");
  const served = join(root, "packages/server/dist/console");
  rmSync(served, { recursive: true, force: true });
  cpSync(join(root, "apps/console/dist"), served, { recursive: true });
  const stage = mkdtempSync(join(tmpdir(), "skein-stage-"));
  try {
    const folders = readdirSync(join(root, "packages")).map((name) => stagePackage(stage, name));
    const said = runIn(root, "npm", "pack", "--json", "--pack-destination", resolve(destination), ...folders);
    const packs = JSON.parse(said) as readonly { name: string; filename: string; size: number; unpackedSize: number }[];
    return packs.map(({ name, filename, size, unpackedSize }) => ({
      name,
      file: join(destination, filename.replace("@", "").replace("/", "-")),
      packedBytes: size,
      unpackedBytes: unpackedSize,
    }));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/**
 * Copies a package and adds the data that all packages share: the version, the licence, the address of the repository.
 */
function stagePackage(stage: string, name: string): string {
  const [from, to] = [join(root, "packages", name), join(stage, name)];
  mkdirSync(to);
  const manifest = publishedManifest(readManifest(from), readManifest(root), `packages/${name}`);
  for (const file of [...(manifest.files ?? []), "README.md"])
    if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file), { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(to, "LICENSE"));
  if (manifest.files?.includes(NOTICES)) copyFileSync(join(root, NOTICES), join(to, NOTICES));
  writeFileSync(join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return to;
}

/** Only the server's package contains third-party code, in the console. */
const NOTICES = "THIRD-PARTY-NOTICES.md";

/** Returns the packed files of a package and of its Skein dependencies, which are not on npm yet. */
export function packedWithDependencies(packed: string, name: string): readonly string[] {
  const { version } = readManifest(root);
  const found = new Set<string>();
  const add = (one: string): void => {
    if (found.has(one)) return;
    found.add(one);
    const folder = one === "skein" ? one : one.replace("@skein/", "");
    const { dependencies = {} }: Manifest = readManifest(join(root, "packages", folder));
    Object.keys(dependencies).filter(isOurs).forEach(add);
  };
  add(name);
  return [...found].map((one) => join(packed, `${one.replace("@skein/", "skein-")}-${version}.tgz`));
}

const isOurs = (name: string): boolean => name === "skein" || name.startsWith("@skein/");

/** Installs the packages in a new folder outside of the workspace. */
export function installIn(folder: string, packages: readonly string[]): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  runIn(folder, "npm", "install", "--silent", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund", ...packages);
}

/**
 * Runs a command in a folder. Commands other than npm do not get the environment of the user who started the script.
 */
export function runIn(folder: string, command: string, ...args: readonly string[]): string {
  const env = command === "npm" ? process.env : userEnvironment(folder);
  return execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

export function userEnvironment(folder: string): NodeJS.ProcessEnv {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  return { PATH: path, HOME: folder, SKEIN_DATA_DIR: join(folder, "data") };
}
