/** Makes the data directory of a benchmark. */
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeCorpus } from "@skein/history/testing";

export const FROM_HELP = `  --from DIR     real transcripts: those of this data directory, copied with new ids until there are 400 MB`;

const wanted = { files: 400, bytes: 400_000_000 };

/**
 * Returns an existing folder, enlarged transcripts (`--from DIR`), or a generated corpus. `times` multiplies the size.
 */
export function benchFolder(args: readonly string[], work: string, times = 1): string {
  const fromAt = args.indexOf("--from");
  const from = fromAt < 0 ? undefined : args[fromAt + 1];
  if (from !== undefined) return grown(from, join(work, "corpus"), wanted.bytes * times);
  const given = args.find((arg, at) => !arg.startsWith("-") && args[at - 1] !== "--only");
  if (given !== undefined) return given;
  const folder = join(work, "corpus");
  writeCorpus({ folder, files: wanted.files * times, bytes: wanted.bytes * times, seed: 1 });
  return folder;
}

/**
 * Copies the transcripts of a data directory many times. Each copy gets new project folders and ids, so that no tool
 * skips it as a duplicate.
 */
function grown(from: string, to: string, bytes: number): string {
  const source = join(from, "projects");
  const names = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(source, name)).isFile(),
  );
  let written = 0;
  for (let copy = 0; copy < 1296 && (written < bytes || copy === 0); copy += 1) {
    const tag = copy.toString(36).padStart(2, "0");
    const before = written;
    for (const name of names) {
      const path = join(to, "projects", own(name.replace(/^[^/\\]+/, `$&-${tag}`), tag));
      mkdirSync(dirname(path), { recursive: true });
      const text = own(readFileSync(join(source, name), "utf8"), tag);
      writeFileSync(path, text);
      const { mtimeMs } = statSync(join(source, name));
      const time = (mtimeMs - copy * 3_600_000) / 1000;
      utimesSync(path, time, time);
      if (name.endsWith(".jsonl")) written += Buffer.byteLength(text);
    }
    if (written === before) break;
  }
  return to;
}

/** Returns the text with other ids. */
function own(text: string, tag: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g, (uuid) => hexOf(tag) + uuid.slice(4))
    .replaceAll(/\b((?:msg|req|toolu)_)[A-Za-z0-9]{2}/g, `$1${tag}`);
}

function hexOf(tag: string): string {
  return Number.parseInt(tag, 36).toString(16).padStart(4, "0");
}
