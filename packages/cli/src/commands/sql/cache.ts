import { spawn } from "node:child_process";
import { setPriority } from "node:os";
import { type BuildCopyOptions, buildCopy, copyStatus, removeCopy } from "@skein/sql";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";
import { shortTime, size as sizeText } from "../../terminal/times.ts";
import { visible } from "../../terminal/visible-text.ts";

/** If the transcripts are smaller than this, reading them is as fast as opening their cached copy. */
const WORTH_BYTES = 32 * 2 ** 20;

interface CacheOptions extends BuildCopyOptions {
  readonly screen: Screen;
}

/** `skein sql cache`: shows, makes or removes the cached copy of the transcripts. */
export async function cache(word: string | undefined, { screen, ...options }: CacheOptions): Promise<number> {
  switch (word) {
    case undefined: {
      const { file, size, madeAt } = copyStatus(options);
      screen.out(`${visible(file)}\n`);
      screen.out(
        size === null
          ? 'There is no copy yet. "skein sql cache build" makes it.\n'
          : `${sizeText(size)}, of ${madeAt ? shortTime(madeAt) : "an unknown time"}\n`,
      );
      return EXIT.completed;
    }
    case "build": {
      // The build has a low priority, because it often runs while a person works.
      setPriority(10);
      const done = screen.progress("Copying");
      const result = await buildCopy(options).finally(done);
      if (result.outcome === "busy") screen.note("Another process is building the copy.\n");
      else if (result.outcome === "current") screen.out("The copy is up to date.\n");
      else screen.out(`${result.added} files added, ${result.removed} removed: ${visible(result.file)}\n`);
      return EXIT.completed;
    }
    case "clear":
      for (const path of removeCopy(options)) screen.out(`${visible(path)}\n`);
      return EXIT.completed;
    default:
      throw new UsageError(
        `Unknown word "${word}". Use "skein sql cache", "skein sql cache build" or "skein sql cache clear".`,
      );
  }
}

/** Starts a process that makes or updates the copy, if the files are large. Does not wait for the process. */
export function startBuilder(scannedBytes: number, roots: readonly string[] | undefined): boolean {
  const [, bin] = process.argv;
  if (scannedBytes < WORTH_BYTES || bin === undefined) return false;
  const args = [
    ...process.execArgv,
    bin,
    "sql",
    "cache",
    "build",
    ...(roots ?? []).flatMap((root) => ["--root", root]),
  ];
  spawn(process.execPath, args, { detached: true, stdio: "ignore" }).unref();
  return true;
}
