import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Builds every package and packs it into a folder, as it would be published. Answers how many there are. */
export function packAll(destination: string): number {
  mkdirSync(destination, { recursive: true });
  const packages = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name));
  runIn(root, join(root, "node_modules/.bin/tsc"), "-b", "--force");
  // The console is no package of its own on npm: the server brings its files.
  runIn(root, "npm", "run", "build", "--silent", "--workspace", "@skein/console");
  const served = join(root, "packages/server/dist/console");
  rmSync(served, { recursive: true, force: true });
  cpSync(join(root, "apps/console/dist"), served, { recursive: true });
  for (const folder of packages) runIn(folder, "npm", "pack", "--silent", "--pack-destination", destination);
  return packages.length;
}

/** The packed files of a package and of all packages of ours that it depends on: npm finds none of them elsewhere. */
export function packedWithDependencies(packed: string, name: string): readonly string[] {
  const found = new Set<string>();
  const add = (one: string): void => {
    if (found.has(one)) return;
    found.add(one);
    const folder = one === "skein" ? one : one.replace("@skein/", "");
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
    };
    Object.keys(dependencies).filter(isOurs).forEach(add);
  };
  add(name);
  return [...found].map((one) => join(packed, `${one.replace("@skein/", "skein-")}-0.0.0.tgz`));
}

const isOurs = (name: string): boolean => name === "skein" || name.startsWith("@skein/");

/** A new folder of a user, with these packages and nothing of the workspace. */
export function installIn(folder: string, packages: readonly string[]): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  runIn(folder, "npm", "install", "--silent", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund", ...packages);
}

/** Runs a command in a folder; anything but npm runs without the settings of whoever started the script. */
export function runIn(folder: string, command: string, ...args: readonly string[]): string {
  const env = command === "npm" ? process.env : userEnvironment(folder);
  return execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

export function userEnvironment(folder: string): NodeJS.ProcessEnv {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  return { PATH: path, HOME: folder, SKEIN_DATA_DIR: join(folder, "data") };
}
