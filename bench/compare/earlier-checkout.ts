/** Makes a checkout of an earlier commit in a temporary folder, in which `npm run` works. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Checkout {
  readonly folder: string;
  remove(): void;
}

/**
 * Checks out `commit`. Links the packages that are installed in the checkout `root` if their versions match. Otherwise
 * installs all packages with npm.
 */
export function checkOut(root: string, commit: string): Checkout {
  const parent = mkdtempSync(join(tmpdir(), "skein-against-"));
  // The folder is readable for everyone, because a benchmark may start servers as another user.
  chmodSync(parent, 0o755);
  const folder = join(parent, "checkout");
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" });
  const remove = (): void => {
    git("worktree", "remove", "--force", folder);
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    git("worktree", "add", "--detach", folder, commit);
  } catch {
    rmSync(parent, { recursive: true, force: true });
    throw new Error(`There is no commit "${commit}" in this clone.`);
  }
  try {
    const missing = missingIn(root, folder);
    if (missing.length === 0) linkModules(root, folder);
    else {
      process.stderr.write(
        `Installing the packages that ${commit} needs and this checkout lacks: ${missing.join(", ")} …\n`,
      );
      execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder, stdio: "pipe" });
    }
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, remove };
}

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function packagesOf(folder: string): readonly string[] {
  if (!existsSync(join(folder, "packages"))) return [];
  const all = readdirSync(join(folder, "packages")).map((name) => join(folder, "packages", name));
  return all.filter((path) => existsSync(join(path, "package.json")));
}

/** Returns the packages that `folder` needs but `root` lacks or has in another version. */
function missingIn(root: string, folder: string): readonly string[] {
  const ours = new Set(packagesOf(folder).map((path) => manifest(path).name));
  const missing = [folder, ...packagesOf(folder)].flatMap((path) => {
    const { dependencies = {}, devDependencies = {} } = manifest(path);
    const wanted = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => !ours.has(name));
    const places = [join(root, path.slice(folder.length), "node_modules"), join(root, "node_modules")];
    return wanted.filter(([name, version]) => !isInstalled(name, version, places)).map(([name]) => name);
  });
  return [...new Set(missing)];
}

function isInstalled(name: string, version: string, places: readonly string[]): boolean {
  const place = places.find((modules) => existsSync(join(modules, name, "package.json")));
  if (place === undefined) return false;
  // Almost all versions are exact. For a range, any installed version is accepted.
  return !/^\d/u.test(version) || manifest(join(place, name)).version === version;
}

/** Creates links to the installed packages of `root` and to the packages in `folder`. */
function linkModules(root: string, folder: string): void {
  const ours = packagesOf(folder).map((path) => ({ path, name: manifest(path).name }));
  const taken = new Set(ours.map(({ name }) => name.split("/")[0] ?? name));
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")))
    if (!taken.has(name)) symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  for (const { path, name } of ours) {
    const link = join(folder, "node_modules", name);
    mkdirSync(join(link, ".."), { recursive: true });
    symlinkSync(path, link);
    // npm may have installed some packages only for this package.
    const own = join(path.slice(folder.length), "node_modules");
    if (existsSync(join(root, own))) symlinkSync(join(root, own), join(folder, own));
  }
}
