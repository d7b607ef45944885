import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PlatformTable } from "../tables/platform-tables.ts";
import type { HistoryFolders } from "./bubblewrap.ts";

/** A file of rows as JSON lines. */
export interface RowsFile {
  readonly file: string;
  /** The length of the longest line in bytes. */
  readonly longest: number;
}

/** A request to write a database with the rows of a tenant, or the cached copy of Claude Code's files. */
export type WriteRequest = { readonly id: number } & (RowsRequest | CopyRequest);

interface CopyRequest {
  readonly kind: "copy";
  readonly history: HistoryFolders;
}

export interface RowsRequest {
  readonly kind: "rows";
  /** The folder of the empty database. The first database of a tenant begins as a copy of the empty database. */
  readonly folder: string;
  /** The database that is copied first. Null means the empty database. */
  readonly from: string | null;
  readonly to: string;
  /** The sessions whose rows are removed before new rows are added. */
  readonly gone: RowsFile;
  /** Whether the file is rewritten, so that it contains no bytes of removed rows. */
  readonly compact: boolean;
  readonly tables: readonly {
    readonly table: PlatformTable;
    /** The column with the session's id; null if all rows of the table are replaced. */
    readonly sessionColumn: string | null;
    readonly rows: RowsFile | null;
  }[];
}

export interface WriteAnswer {
  readonly id: number;
  readonly error?: string;
}

/**
 * Writes databases in a child process. The process starts with the first request, and stops after a minute without
 * requests.
 */
export interface DatabaseWriter {
  write(request: RowsRequest | CopyRequest): Promise<void>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

export function createDatabaseWriter(): DatabaseWriter {
  let child: ChildProcess | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ids = 0;
  const waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();

  function started(): ChildProcess {
    if (child) return child;
    const isSource = import.meta.url.endsWith(".ts");
    const program = fileURLToPath(new URL(isSource ? "./write-databases.ts" : "./write-databases.js", import.meta.url));
    const made = fork(program, {
      execArgv: [...(isSource ? ["--conditions=@skein/source"] : []), "--disable-warning=ExperimentalWarning"],
      env: {},
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    child = made;
    made.on("message", ({ id, error }: WriteAnswer) => {
      const one = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) one?.resolve();
      else one?.reject(new Error(error));
    });
    const end = (): void => {
      if (child === made) child = undefined;
      for (const { reject } of waiting.values()) reject(new Error("The process that writes databases has ended."));
      waiting.clear();
    };
    made.once("exit", end);
    made.once("error", end);
    return made;
  }

  async function stop(): Promise<void> {
    clearTimeout(timer);
    const stopped = child;
    if (!stopped) return;
    child = undefined;
    const ended = new Promise<void>((resolve) => stopped.once("exit", () => resolve()));
    if (stopped.connected) stopped.disconnect();
    stopped.kill("SIGKILL");
    await ended;
  }

  return {
    async write(request) {
      clearTimeout(timer);
      ids += 1;
      const id = ids;
      try {
        await new Promise<void>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          started().send({ ...request, id } satisfies WriteRequest, (error) => {
            if (error) reject(error);
          });
        });
      } finally {
        waiting.delete(id);
        if (waiting.size === 0) timer = setTimeout(() => void stop(), IDLE_MS).unref();
      }
    },
    close: stop,
  };
}
