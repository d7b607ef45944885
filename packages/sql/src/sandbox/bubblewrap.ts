/**
 * The walls around a statement: bubblewrap (namespaces, an almost empty file system, a filter of the kernel's calls) and prlimit
 * (memory, processor time).
 *
 * Inside there are Node, its shared libraries, DuckDB, our own code and what may be asked, all of it read-only. There is
 * no network, no environment, no /proc, no /dev, no other process, and nothing that could be started.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { syscallFilter } from "./syscall-filter.ts";

/** Where commands are looked for: never where an environment says. */
export const COMMAND_FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** Where bubblewrap reads the filter of the kernel's calls from. */
export const FILTER_PIPE = 4;

/** Namespaces of its own for everything, nobody's rights, and an end with the server's. */
const WALLS =
  "--unshare-all --unshare-user --uid 65534 --gid 65534 --hostname sql --die-with-parent --clearenv --cap-drop ALL --chdir /".split(
    " ",
  );

export interface Walls {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

/** What a process is for: the rows of a tenant alone, or Claude Code's files too. */
export interface Inside {
  /** Folders that it may read, under their own names. */
  readonly history?: HistoryFolders | undefined;
}

export interface HistoryFolders {
  /** Claude Code's data directories, as real paths. */
  readonly roots: readonly string[];
  /** Skein's own folder, with what is known of them. */
  readonly cacheFolder: string;
}

/** A command that starts the program inside the sandbox, or why there is none. */
export type Sandboxed =
  | {
      readonly command: string;
      readonly args: (walls: Walls, data: string) => readonly string[];
      /** What it finds in its root folder, and nothing else. */
      readonly places: readonly string[];
      /** What bubblewrap reads from `FILTER_PIPE`; undefined where no filter is known for this kind of machine. */
      readonly filter: Uint8Array | undefined;
    }
  | { readonly problem: string };

export function findSandbox(commandFolders: readonly string[], { history }: Inside = {}): Sandboxed {
  if (process.platform !== "linux") return { problem: "It needs bubblewrap, which there is for Linux alone." };
  const commandNamed = (name: string): string | undefined =>
    commandFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  const bwrap = commandNamed("bwrap");
  const prlimit = commandNamed("prlimit");
  if (bwrap === undefined)
    return { problem: 'It needs bubblewrap, which is not on this machine. On Debian: "apt-get install bubblewrap".' };
  if (prlimit === undefined)
    return { problem: 'It needs prlimit, which is not on this machine. On Debian: "apt-get install util-linux".' };
  const folders = history ? [...history.roots, history.cacheFolder] : [];
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing !== undefined) return { problem: `There is no folder ${missing}.` };
  const { places, program } = insideOf(history);
  const filter = syscallFilter(process.arch);
  return {
    command: prlimit,
    args: ({ memoryBytes, cpuSeconds }, data) => [
      `--data=${memoryBytes}`,
      `--cpu=${cpuSeconds}`,
      // It writes to pipes only.
      "--fsize=0",
      "--core=0",
      "--nofile=1024",
      bwrap,
      ...WALLS,
      ...(filter ? ["--seccomp", String(FILTER_PIPE)] : []),
      // For files without content, which is all that it can write.
      ...(history ? ["--tmpfs", "/tmp"] : []),
      ...places.flatMap(({ from, to, link }) => [link ? "--symlink" : "--ro-bind", from, to]),
      ...folders.flatMap((folder) => ["--ro-bind", folder, folder]),
      "--ro-bind",
      data,
      "/data",
      "--remount-ro",
      "/",
      ...program,
    ],
    filter,
    places: [...new Set([...places.map(({ to }) => to), ...folders, "/data", ...(history ? ["/tmp"] : [])].map(topOf))],
  };
}

/** `home` of `/home/me/.claude`. */
function topOf(path: string): string {
  return path.split("/")[1] ?? "";
}

interface Place {
  readonly from: string;
  readonly to: string;
  readonly link?: true;
}

/** What is put inside, at places that say nothing about this machine, and the program that is started there. */
function insideOf(history: HistoryFolders | undefined): {
  readonly places: readonly Place[];
  readonly program: readonly string[];
} {
  const here = fileURLToPath(import.meta.url);
  // `src` in a clone, where Node runs the sources, and `dist` where it is installed.
  const isSource = here.endsWith(".ts");
  const code = dirname(dirname(here));
  const own = dirname(code);
  const name = history ? "answer-history" : "answer-tenant";
  const needed = history ? dependenciesOf(own) : ["@duckdb/node-api", "apache-arrow"];
  return {
    places: [
      { from: realpathSync(process.execPath), to: "/skein/node" },
      { from: code, to: "/skein/sql/code" },
      { from: join(own, "package.json"), to: "/skein/sql/package.json" },
      ...[...packages(needed, own)].flatMap(([each, folder]) => placesOf(each, realpathSync(folder))),
      ...sharedLibraries().map((file) => ({ from: realpathSync(file), to: file })),
    ],
    program: [
      "/skein/node",
      ...(isSource ? ["--conditions=@skein/source"] : []),
      "--disable-warning=ExperimentalWarning",
      `/skein/sql/code/sandbox/${name}.${isSource ? "ts" : "js"}`,
      ...(history ? [JSON.stringify(history)] : []),
    ],
  };
}

/** Node runs no sources below `node_modules`: a package of a clone stands elsewhere, as it does there. */
function placesOf(name: string, folder: string): readonly Place[] {
  const to = `/skein/node_modules/${name}`;
  if (folder.includes("/node_modules/")) return [{ from: folder, to }];
  const apart = `/skein/packages/${name}`;
  return [
    { from: folder, to: apart },
    { from: apart, to, link: true },
  ];
}

/** The folders of packages and of all that they need and have here. */
function packages(names: readonly string[], from: string, found = new Map<string, string>()): Map<string, string> {
  for (const name of names) {
    const folder = packageFolder(name, from);
    if (found.has(name) || folder === undefined || name.startsWith("@types/")) continue;
    found.set(name, folder);
    packages(dependenciesOf(folder), folder, found);
  }
  return found;
}

function dependenciesOf(folder: string): readonly string[] {
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as Record<"dependencies" | "optionalDependencies", Record<string, string> | undefined>;
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies)];
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
