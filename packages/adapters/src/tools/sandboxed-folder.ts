import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Sandbox, SandboxedProcess, SandboxLimits } from "@skein/core";
import {
  type ConfinedFile,
  type ConfinedFolder,
  type FoundFile,
  aFolder,
  behindFile,
  inGroups,
  noFile,
  noPlainFile,
  notOpened,
  outside,
  placeInside,
} from "./confined-folder.ts";
import { READ, LIST, PACK, REPLACE } from "./folder-scripts.ts";
import { tarFiles } from "./tar-files.ts";
import { ENTRIES } from "./walk-folder.ts";

interface SandboxedFolderOptions {
  readonly sandbox: Sandbox;
  readonly limits: SandboxLimits | undefined;
  readonly signal: AbortSignal;
}

/** How long one program in the sandbox may take. */
const LOOK_MS = 60_000;
/** How many files one process packs. */
const PACKED = 2000;

/**
 * Creates a folder whose files are opened by small programs in a sandbox. Wherever a path or a link leads, these
 * programs see only the folder and a system without secrets.
 */
export function createSandboxedFolder(folder: string, options: SandboxedFolderOptions): ConfinedFolder {
  const { sandbox, limits = {}, signal } = options;
  const given = resolve(folder);

  async function start(script: string, path: string, more: readonly string[] = []): Promise<Look> {
    signal.throwIfAborted();
    const base = await realpath(given);
    const place = placeInside({ given, base }, path);
    const child = sandbox.start({
      command: "/bin/bash",
      args: ["--noprofile", "--norc", "-c", script, "files", place, ...more],
      cwd: base,
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
      places: [{ path: base, access: script === REPLACE ? "write" : "read" }],
      limits,
      goodForMs: LOOK_MS,
    });
    child.stderr.resume();
    const stop = (): void => child.kill("SIGKILL");
    signal.addEventListener("abort", stop, { once: true });
    void child.ended.then(() => signal.removeEventListener("abort", stop));
    return { base, place, child };
  }

  async function openFile(path: string): Promise<ConfinedFile> {
    const { child } = await start(READ, path);
    child.stdin.end();
    const size = await firstLine(child.stdout);
    if (size === undefined) throw await problemOf(child, path);
    return {
      size: Number(size),
      stream: (most) => Readable.from(firstBytes(child.stdout, most), { objectMode: false }),
      close: async () => child.kill("SIGKILL"),
    };
  }

  return {
    openFile,
    async replaceFile(path, text) {
      const { child } = await start(REPLACE, path, [randomUUID()]);
      child.stdout.resume();
      child.stdin.end(text);
      const { code } = await child.ended;
      if (code !== 0) throw await problemOf(child, path);
    },
    async *files(path, { everywhere, walked }) {
      const { child, base, place } = await start(LIST, path, [everywhere ? "everywhere" : ""]);
      child.stdin.end();
      const found: FoundFile[] = [];
      let looked = 0;
      for await (const entry of nulSeparated(child.stdout)) {
        if (++looked > ENTRIES) {
          walked.cut = true;
          child.kill("SIGKILL");
          break;
        }
        const [, kind, changed, size, name = ""] = /^(.) (\d+)[\d.]* (\d+) (.*)$/s.exec(entry) ?? [];
        if (kind !== "f") continue;
        const shown = relative(base, `${place}/${name}`) || ".";
        found.push({ path: name, shown, size: Number(size), changed: async () => Number(changed) * 1000 });
      }
      if (!walked.cut && (await child.ended).code !== 0) throw await problemOf(child, path);
      yield* found.sort(byDepth);
    },
    async *contents(files, most) {
      for await (const group of inGroups(files, PACKED)) {
        const { child } = await start(PACK, ".");
        const wanted = group.filter(({ size = 0 }) => size <= most);
        child.stdin.end(wanted.map(({ shown }) => `./${shown}\0`).join(""));
        try {
          for await (const { name, bytes } of tarFiles(child.stdout, most))
            yield { shown: name.replace(/^\.\//, ""), bytes };
        } finally {
          child.kill("SIGKILL");
        }
      }
    },
  };
}

interface Look {
  /** The real path of the folder. */
  readonly base: string;
  /** The absolute path to read. Its links are resolved in the sandbox. */
  readonly place: string;
  readonly child: SandboxedProcess;
}

/** Returns the error for the exit code of a program. */
async function problemOf({ ended }: SandboxedProcess, path: string): Promise<Error> {
  const { code, limit } = await ended;
  if (limit !== undefined) return new Error(`The tool was stopped: ${limit}.`);
  return PROBLEMS[code ?? 0]?.(path) ?? new Error(`${path} could not be used: the sandbox ended with code ${code}.`);
}

/** The errors by the exit codes of `folder-scripts.ts`. */
const PROBLEMS: Readonly<Record<number, (path: string) => Error>> = {
  20: outside,
  21: aFolder,
  22: noFile,
  23: noPlainFile,
  24: notOpened,
  25: behindFile,
  26: (path) => new Error(`${path} could not be written.`),
};

/** Sorts the files of a folder before the files of its subfolders. */
function byDepth(one: FoundFile, other: FoundFile): number {
  const depths = [one, other].map(({ path }) => path.split("/").length);
  return (depths[0] ?? 0) - (depths[1] ?? 0) || (one.path < other.path ? -1 : 1);
}

/** Yields the first `most` bytes of a stream, because a file in a sandbox may be of any size, and may grow. */
async function* firstBytes(stream: Readable, most: number): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/** Reads the first line of a stream; undefined if there is no line. The stream then continues after this line. */
async function firstLine(stream: Readable): Promise<string | undefined> {
  let line = "";
  for (;;) {
    const piece = stream.read() as Buffer | null;
    if (piece === null) {
      if (stream.readableEnded) return undefined;
      await new Promise<void>((resolve) => {
        const go = (): void => {
          stream.off("readable", go).off("end", go).off("close", go);
          resolve();
        };
        stream.on("readable", go).on("end", go).on("close", go);
      });
      if (stream.readableEnded || (stream.destroyed && stream.readableLength === 0)) return undefined;
      continue;
    }
    const end = piece.indexOf(10);
    if (end === -1) {
      line += piece.toString("latin1");
      continue;
    }
    if (end + 1 < piece.length) stream.unshift(piece.subarray(end + 1));
    return line + piece.subarray(0, end).toString("latin1");
  }
}

async function* nulSeparated(stream: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\0");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
