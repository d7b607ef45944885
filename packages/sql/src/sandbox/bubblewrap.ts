/**
 * The walls around a statement: bubblewrap (namespaces, an almost empty file system) and prlimit (memory, processor time).
 *
 * Inside there are Node, its shared libraries, DuckDB, this package and the rows of one question, all of it read-only.
 * There is no network, no environment, no /proc, no /dev, no other process, and nothing that could be started.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where commands are looked for: never where an environment says. */
export const COMMAND_FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
/** What the program inside imports. */
const PACKAGES = ["@duckdb/node-api", "apache-arrow"];

/** Namespaces of its own for everything, nobody's rights, and an end with the server's. */
const WALLS =
  "--unshare-all --unshare-user --uid 65534 --gid 65534 --hostname sql --die-with-parent --clearenv --cap-drop ALL --chdir /".split(
    " ",
  );

export interface Walls {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

/** A command that starts the program inside the sandbox, or why there is none. */
export type Sandboxed =
  | { readonly command: string; readonly args: (walls: Walls, data: string) => readonly string[] }
  | { readonly problem: string };

export function findSandbox(commandFolders: readonly string[]): Sandboxed {
  if (process.platform !== "linux") return { problem: "It needs bubblewrap, which there is for Linux alone." };
  const commandNamed = (name: string): string | undefined =>
    commandFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  const bwrap = commandNamed("bwrap");
  const prlimit = commandNamed("prlimit");
  if (bwrap === undefined)
    return { problem: 'It needs bubblewrap, which is not on this machine. On Debian: "apt-get install bubblewrap".' };
  if (prlimit === undefined)
    return { problem: 'It needs prlimit, which is not on this machine. On Debian: "apt-get install util-linux".' };
  const inside = insideArgs();
  return {
    command: prlimit,
    args: ({ memoryBytes, cpuSeconds }, data) => [
      `--data=${memoryBytes}`,
      `--cpu=${cpuSeconds}`,
      // It writes to pipes only.
      "--fsize=0",
      "--core=0",
      "--nofile=64",
      bwrap,
      ...WALLS,
      ...inside.binds,
      "--ro-bind",
      data,
      "/data",
      "--remount-ro",
      "/",
      ...inside.program,
    ],
  };
}

/** What is put inside, at places that say nothing about this machine. */
function insideArgs(): { readonly binds: readonly string[]; readonly program: readonly string[] } {
  const here = fileURLToPath(import.meta.url);
  // `src` in a clone, where Node runs the sources, and `dist` where it is installed.
  const code = dirname(dirname(here));
  const own = dirname(code);
  const program = here.endsWith(".ts") ? "child.ts" : "child.js";
  const binds: readonly (readonly [from: string, to: string])[] = [
    [process.execPath, "/skein/node"],
    [code, "/skein/sql/code"],
    [join(own, "package.json"), "/skein/sql/package.json"],
    ...[...packages(PACKAGES, own)].map(([name, folder]) => [folder, `/skein/node_modules/${name}`] as const),
    ...sharedLibraries().map((file) => [file, file] as const),
  ];
  return {
    binds: binds.flatMap(([from, to]) => ["--ro-bind", realpathSync(from), to]),
    program: ["/skein/node", "--disable-warning=ExperimentalWarning", `/skein/sql/code/sandbox/${program}`],
  };
}

/** The folders of packages and of all that they need and have here. */
function packages(names: readonly string[], from: string, found = new Map<string, string>()): Map<string, string> {
  for (const name of names) {
    const folder = packageFolder(name, from);
    if (found.has(name) || folder === undefined || name.startsWith("@types/")) continue;
    found.set(name, folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    ) as Record<"dependencies" | "optionalDependencies", Record<string, string> | undefined>;
    packages([...Object.keys(dependencies), ...Object.keys(optionalDependencies)], folder, found);
  }
  return found;
}

/** As Node looks for it: in the `node_modules` beside, and then in those further up. */
function packageFolder(name: string, from: string): string | undefined {
  const folder = join(from, "node_modules", name);
  if (existsSync(folder)) return folder;
  return dirname(from) === from ? undefined : packageFolder(name, dirname(from));
}

/** The shared libraries of this process, which are those of Node; DuckDB needs no others. */
function sharedLibraries(): readonly string[] {
  // Without this, a report of a server asks a name server about everybody who is connected.
  const report = Object.assign(process.report, { excludeNetwork: true }).getReport() as { sharedObjects?: string[] };
  const { sharedObjects = [] } = report;
  return sharedObjects.filter((file) => file.startsWith("/") && !file.includes("/node_modules/"));
}
