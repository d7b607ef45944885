/**
 * Builds the command that starts a program in a sandbox: bubblewrap (namespaces, an almost empty file system, a filter
 * of system calls) and prlimit (memory, processor time).
 *
 * The sandbox contains Node, its shared libraries, DuckDB, the code of Skein and the data of the query, all read-only.
 * It has no network, no environment, no /proc, no /dev, no other process and no other program.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { syscallFilter } from "@skein/core";

/** The folders in which Skein looks for commands. The PATH of the environment is not used. */
export const COMMAND_FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** The file descriptor from which bubblewrap reads the filter of system calls. */
export const FILTER_PIPE = 4;

/**
 * The path of Skein's cache folder inside the sandbox. DuckDB shows the path of an attached database, so the real path
 * stays hidden.
 */
const CACHE = "/cache";

/** The process has new namespaces, runs as nobody, and is killed when its server ends. */
const WALLS =
  "--unshare-all --unshare-user --uid 65534 --gid 65534 --hostname sql --die-with-parent --clearenv --cap-drop ALL --chdir /".split(
    " ",
  );

export interface Walls {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

/** The content of a sandbox, besides the rows of a tenant. */
export interface SandboxContent {
  /** Files that the tables read. Inside the sandbox they have the same paths as outside. */
  readonly history?: HistoryFolders | undefined;
}

/**
 * The entries of a data directory that the tables read: transcripts with the notes about subagents, plans, todo lists,
 * tasks, prompts, statistics, and the file that names the coding agent of a mirror. Logins, settings and copies of
 * edited files stay outside of the sandbox.
 */
const READ_ENTRIES = ["projects", "plans", "todos", "tasks", "history.jsonl", "stats-cache.json", "source.json"];

export interface HistoryFolders {
  /**
   * Claude Code's data directories, and mirrors: folders with the translated sessions of other coding agents. Real
   * paths.
   */
  readonly roots: readonly string[];
  /** Skein's cache folder with the copy of the transcripts. */
  readonly cacheFolder: string;
}

/** The command that starts a program in the sandbox, or the reason why it cannot be started. */
export type FoundSandbox =
  | {
      readonly command: string;
      /**
       * Returns the arguments of the command. The program of a trial does not search for transcripts, because the
       * search takes most of the time of a start.
       */
      readonly args: (walls: Walls, data: string, options: { readonly isTrial: boolean }) => readonly string[];
      /** The names of everything in the root folder of the sandbox. */
      readonly places: readonly string[];
      /** The filter of system calls for `FILTER_PIPE`. Undefined if Skein has no filter for the processor. */
      readonly filter: Uint8Array | undefined;
    }
  | { readonly problem: string };

export function findSandbox(commandFolders: readonly string[], { history }: SandboxContent = {}): FoundSandbox {
  if (process.platform !== "linux") return { problem: "The SQL sandbox needs bubblewrap, which runs on Linux only." };
  const commandNamed = (name: string): string | undefined =>
    commandFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  const bwrap = commandNamed("bwrap");
  const prlimit = commandNamed("prlimit");
  if (bwrap === undefined)
    return {
      problem:
        'The SQL sandbox needs bubblewrap, which is not on this machine. On Debian: "apt-get install bubblewrap".',
    };
  if (prlimit === undefined)
    return {
      problem: 'The SQL sandbox needs prlimit, which is not on this machine. On Debian: "apt-get install util-linux".',
    };
  const roots = history?.roots ?? [];
  const missing = [...roots, ...(history ? [history.cacheFolder] : [])].find((folder) => !existsSync(folder));
  if (missing !== undefined) return { problem: `The folder ${missing} does not exist.` };
  const { places, program, trial } = contentOf(history);
  const filter = syscallFilter(process.arch, { sockets: false });
  return {
    command: prlimit,
    args: ({ memoryBytes, cpuSeconds }, data, { isTrial }) => [
      `--data=${memoryBytes}`,
      `--cpu=${cpuSeconds}`,
      // The process writes only to pipes.
      "--fsize=0",
      "--core=0",
      "--nofile=1024",
      bwrap,
      ...WALLS,
      ...(filter ? ["--seccomp", String(FILTER_PIPE)] : []),
      // A folder for temporary files. The files stay empty, because --fsize=0 allows no content.
      ...(history ? ["--tmpfs", "/tmp"] : []),
      ...places.flatMap(({ from, to, link }) => [link ? "--symlink" : "--ro-bind", from, to]),
      ...roots.flatMap(mountsOf),
      ...(history ? ["--ro-bind", history.cacheFolder, CACHE] : []),
      "--ro-bind",
      data,
      "/data",
      "--remount-ro",
      "/",
      ...(isTrial ? trial : program),
    ],
    filter,
    places: [
      ...new Set([...places.map(({ to }) => to), ...roots, "/data", ...(history ? ["/tmp", CACHE] : [])].map(topOf)),
    ],
  };
}

/**
 * Mounts the entries of a data directory. The directory is made even if it has no entries, because statements fail
 * without it.
 */
function mountsOf(root: string): readonly string[] {
  const entries = READ_ENTRIES.map((name) => join(root, name));
  return ["--dir", root, ...entries.flatMap((path) => ["--ro-bind-try", path, path])];
}

/** Returns the first folder of a path, for example `home` for `/home/me/.claude`. */
function topOf(path: string): string {
  return path.split("/")[1] ?? "";
}

interface Place {
  readonly from: string;
  readonly to: string;
  readonly link?: true;
}

/**
 * Returns the content of the sandbox and the commands of its programs. Paths of Skein's code do not show where Skein is
 * installed.
 */
function contentOf(history: HistoryFolders | undefined): {
  readonly places: readonly Place[];
  readonly program: readonly string[];
  readonly trial: readonly string[];
} {
  const here = fileURLToPath(import.meta.url);
  // The code is in `src` in a clone, where Node runs TypeScript, and in `dist` in an installed package.
  const isSource = here.endsWith(".ts");
  const code = dirname(dirname(here));
  const own = dirname(code);
  const started = (name: string): readonly string[] => [
    "/skein/node",
    ...(isSource ? ["--conditions=@skein/source"] : []),
    "--disable-warning=ExperimentalWarning",
    `/skein/sql/code/sandbox/${name}.${isSource ? "ts" : "js"}`,
  ];
  const trial = started("answer-tenant");
  const needed = history ? dependenciesOf(own) : ["@duckdb/node-api", "apache-arrow"];
  return {
    places: [
      { from: realpathSync(process.execPath), to: "/skein/node" },
      { from: code, to: "/skein/sql/code" },
      { from: join(own, "package.json"), to: "/skein/sql/package.json" },
      ...[...packages(needed, own)].flatMap(([each, folder]) => placesOf(each, realpathSync(folder))),
      ...sharedLibraries().map((file) => ({ from: realpathSync(file), to: file })),
    ],
    program: history
      ? [
          ...started("answer-history"),
          JSON.stringify({ roots: history.roots, cacheFolder: CACHE } satisfies HistoryFolders),
        ]
      : trial,
    trial,
  };
}

/**
 * Returns the places where a package is mounted. A package of a clone is mounted outside of `node_modules`, because
 * Node runs no TypeScript there. A link in `node_modules` leads to the package.
 */
function placesOf(name: string, folder: string): readonly Place[] {
  const to = `/skein/node_modules/${name}`;
  if (folder.includes("/node_modules/")) return [{ from: folder, to }];
  const apart = `/skein/packages/${name}`;
  return [
    { from: folder, to: apart },
    { from: apart, to, link: true },
  ];
}

/** Returns the folders of packages and of their installed dependencies. */
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
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
    "dependencies" | "optionalDependencies" | "peerDependencies",
    Record<string, string> | undefined
  >;
  // Peer dependencies are needed too. One of them is zod.
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  return [dependencies, optionalDependencies, peerDependencies].flatMap((some) => Object.keys(some ?? {}));
}

/** Looks for a package as Node does: in the nearest `node_modules`, then in those of the parent folders. */
function packageFolder(name: string, from: string): string | undefined {
  const folder = join(from, "node_modules", name);
  if (existsSync(folder)) return folder;
  return dirname(from) === from ? undefined : packageFolder(name, dirname(from));
}

/** Returns the shared libraries that Node has loaded in this process. DuckDB needs only these libraries. */
function sharedLibraries(): readonly string[] {
  // With `excludeNetwork`, the report does not look up the name of every connected address.
  const report = Object.assign(process.report, { excludeNetwork: true }).getReport() as { sharedObjects?: string[] };
  const { sharedObjects = [] } = report;
  return sharedObjects.filter((file) => file.startsWith("/") && !file.includes("/node_modules/"));
}
