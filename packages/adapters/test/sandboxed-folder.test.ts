/**
 * The server reads only a limited part of a file in a sandbox, because a program may enlarge the file during the read.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import { expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { createSandboxedFolder } from "../src/tools/sandboxed-folder.ts";
import { tarFiles } from "../src/tools/tar-files.ts";

const KIB = 1024;

function folderWith(files: Readonly<Record<string, number>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-sized-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, size] of Object.entries(files)) {
    writeFileSync(join(folder, name), "x");
    truncateSync(join(folder, name), size);
  }
  return folder;
}

test.skipIf(!hasBubblewrap)("only the requested bytes of a file in a sandbox are read, whatever its size", async () => {
  const opened = await openSandbox();
  if ("problem" in opened) throw new Error(opened.problem);
  const folder = folderWith({ large: 512 * KIB, small: 10 });
  const signal = new AbortController().signal;
  const { openFile } = createSandboxedFolder(folder, { sandbox: opened.sandbox, limits: undefined, signal });
  for (const [name, most, read] of [
    ["large", 100 * KIB + 1, 100 * KIB + 1],
    ["small", 100 * KIB, 10],
  ] as const) {
    const file = await openFile(name);
    expect(await buffer(file.stream(most))).toHaveLength(read);
    await file.close();
  }
});

test("a file of an archive that is too large is left out, and later files of the archive are found", async () => {
  const names = ["first", "large", "y".repeat(150), "last"];
  const folder = folderWith(
    Object.fromEntries(names.map((name, index) => [name, name === "large" ? 900 * KIB : index])),
  );
  const archive = execFileSync("tar", ["--create", "--file=-", "--format=gnu", ...names], {
    cwd: folder,
    maxBuffer: 4 * KIB * KIB,
  });
  const pieces = Array.from({ length: Math.ceil(archive.length / 700) }, (_, at) =>
    archive.subarray(at * 700, (at + 1) * 700),
  );
  const found: [string, number][] = [];
  for await (const { name, bytes } of tarFiles(Readable.from(pieces), 64 * KIB)) found.push([name, bytes.length]);
  expect(found).toEqual([
    ["first", 0],
    ["y".repeat(150), 2],
    ["last", 3],
  ]);
});
