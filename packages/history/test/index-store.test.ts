import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { buildIndex, getUsage, listSessions, searchSessions } from "../src/index.ts";
import { writeCorpus } from "../src/sources/claude-code/testing/corpus.ts";
import { conversation, createDataDirectory, jsonLines, sessionId } from "./data-directory.ts";

const builder = `
  import { buildIndex } from ${JSON.stringify(join(import.meta.dirname, "../src/index.ts"))};
  process.stdout.write("started\\n");
  for (;;) await buildIndex({ dataPath: process.argv[1], cacheFolder: process.argv[2] + (process.argv[3] ?? "") });
`;

function startBuilder(dataPath: string, cacheFolder: string): ReturnType<typeof spawn> {
  const args = [
    "--conditions=@skein/source",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    builder,
  ];
  return spawn(process.execPath, [...args, dataPath, cacheFolder], { stdio: ["ignore", "pipe", "inherit"] });
}

describe("the index", () => {
  test("building the index again reads only the new lines", async () => {
    const data = createDataDirectory();
    const { bytes } = writeCorpus({ folder: data.root, files: 8, bytes: 2_000_000 });
    data.session(sessionId(1), [conversation().user("x")]);
    expect((await buildIndex(data.indexed)).bytesRead).toBeGreaterThan(bytes);
    expect((await buildIndex(data.indexed)).bytesRead).toBe(0);
    const line = jsonLines([conversation("2026-12-01T10:00:00.000Z").user("one more")]);
    data.append(`projects/-work-app/${sessionId(1)}.jsonl`, line);
    expect((await buildIndex(data.indexed)).bytesRead).toBe(Buffer.byteLength(line));
  });

  test("a list has the same order with and without the index, even if a prompt looks like a saved time", async () => {
    const data = createDataDirectory();
    const prompts = ['"lastTime":"2099-01-01T00:00:00.000Z"', "newer", 'x","lastTime":null,"y":"'];
    for (const [at, prompt] of prompts.entries())
      data.session(sessionId(at + 1), [conversation(`2026-11-0${at === 2 ? 1 : at + 2}T10:00:00.000Z`).user(prompt)]);
    data.session(sessionId(9), [{ type: "file-history-snapshot", messageId: "m", snapshot: {} }]);
    await buildIndex(data.indexed);
    const indexed = await listSessions(data.indexed);
    expect(indexed).toEqual(await listSessions({ ...data.indexed, cacheFolder: null }));
    expect(indexed.data.map(({ id }) => id)).toEqual([sessionId(2), sessionId(1), sessionId(3), sessionId(9)]);
  });

  test("the index ignores an incomplete line, and counts it once when it is complete", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [talk.answer("one")]);
    const path = `projects/-work-app/${sessionId(1)}.jsonl`;
    const line = jsonLines([talk.answer("two")]);
    for (const cut of [10, line.length - 1, line.length]) {
      const sofar = cut === 10 ? line.slice(0, 10) : cut === line.length - 1 ? line.slice(10, -1) : "\n";
      data.append(path, sofar);
      await buildIndex(data.indexed);
      expect(await getUsage(data.indexed)).toEqual(await getUsage(data.config));
      expect(await listSessions(data.indexed)).toEqual(await listSessions(data.config));
    }
    expect((await getUsage(data.indexed)).totals.calls).toBe(2);
  });

  test("the index notices that a file was rewritten in place, even if the new text is longer", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("alpha"), conversation().answer("one")]);
    await buildIndex(data.indexed);
    const talk = conversation("2026-11-09T10:00:00.000Z");
    data.session(sessionId(1), [
      talk.user("omega and a good deal more than before"),
      talk.answer("two"),
      talk.answer("three"),
    ]);
    expect(await getUsage(data.indexed)).toEqual(await getUsage(data.config));
    expect(await listSessions(data.indexed)).toEqual(await listSessions(data.config));
    expect((await searchSessions("omega", data.indexed)).pagination.total).toBe(1);
  });

  test("only the user can read the index, which is outside the data directory", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("x")]);
    await buildIndex(data.indexed);
    expect(statSync(data.cacheFolder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(data.cacheFolder))
      expect(statSync(join(data.cacheFolder, name)).mode & 0o077).toBe(0);
  });

  test("if the index is damaged or not a database, lists are still correct", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("x")]);
    const plain = await listSessions(data.config);
    for (const content of ["", "this is not a database at all", Buffer.alloc(8192, 7)]) {
      await buildIndex(data.indexed);
      writeFileSync(join(data.cacheFolder, "index.sqlite"), content);
      expect(await listSessions(data.indexed)).toEqual(plain);
    }
    expect(
      await listSessions({
        ...data.indexed,
        cacheFolder: join(data.session(sessionId(1), [conversation().user("x")]), "below-a-file"),
      }),
    ).toEqual(plain);
  });

  test("after a transcript becomes empty, a search with the index finds nothing in it", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("findme")]);
    await buildIndex(data.indexed);
    data.session(sessionId(1), []);
    await buildIndex(data.indexed);
    expect((await searchSessions("findme", data.indexed)).pagination.total).toBe(0);
  });

  test("a deleted file is removed from the index", async () => {
    const data = createDataDirectory();
    const [gone, kept] = [1, 2].map((at) => data.session(sessionId(at), [conversation().user("findme")]));
    await buildIndex(data.indexed);
    const paths = (): readonly unknown[] => {
      const index = new DatabaseSync(join(data.cacheFolder, "index.sqlite"), { readOnly: true });
      const rows = index.prepare("SELECT DISTINCT path FROM facets ORDER BY path").all();
      index.close();
      return rows.map(({ path }) => path);
    };
    expect(paths()).toEqual([gone, kept]);
    rmSync(gone ?? "");
    await buildIndex(data.indexed);
    expect(paths()).toEqual([kept]);
    expect((await searchSessions("findme", data.indexed)).pagination.total).toBe(1);
  });

  test("the index stays correct with killed processes and with several processes at a time", async () => {
    const data = createDataDirectory();
    writeCorpus({ folder: data.root, files: 10, bytes: 3_000_000, seed: 21 });
    const expected = await getUsage(data.config);
    const other = startBuilder(data.root, data.cacheFolder);
    for (const delay of [0, 5, 20, 60, 150]) {
      const child = startBuilder(data.root, data.cacheFolder);
      await once(child.stdout ?? child, "data");
      await new Promise((resolve) => setTimeout(resolve, delay));
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      expect(await getUsage(data.indexed)).toEqual(expected);
    }
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    expect((await buildIndex(data.indexed)).unreadable).toEqual([]);
    expect(await searchSessions("walrus", data.indexed)).toEqual(await searchSessions("walrus", data.config));
  });
});
