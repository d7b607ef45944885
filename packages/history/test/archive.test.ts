import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  archive,
  getSession,
  getUsage,
  listSessions,
  restoreSession,
  searchSessions,
  withArchive,
} from "../src/index.ts";
import { createDataDirectory, conversation, jsonLines, sessionId, type DataDirectory } from "./data-directory.ts";
import { withFault } from "./migrate-faults.ts";
import { fill, snapshot } from "./migrate-world.ts";

const id = sessionId(1);
const main = join("projects", "-work-app", `${id}.jsonl`);

function optionsFor(data: DataDirectory): { dataPath: string; cacheFolder: string; archiveFolder: string } {
  return { ...data.indexed, archiveFolder: join(data.cacheFolder, "kept") };
}

function prepared(): DataDirectory {
  const data = createDataDirectory();
  const said = conversation();
  data.session(id, [said.user("please find the needle"), said.answer("found a needle")]);
  return data;
}

const pieces = (data: DataDirectory): readonly string[] => {
  const { archiveFolder } = optionsFor(data);
  const [root = ""] = readdirSync(archiveFolder).filter((name) => /^[0-9a-f]{16}$/.test(name));
  return readdirSync(join(archiveFolder, root, "files", main)).sort();
};

test("a session that Claude Code deleted is listed, read, searched and counted from the archive", async () => {
  const data = prepared();
  const before = { session: await getSession(id, data.config), usage: await getUsage(data.config) };
  expect(await archive(optionsFor(data))).toMatchObject({ files: 1, changedFiles: 1, failed: [] });
  rmSync(data.path(main));
  expect((await listSessions(data.config)).data).toEqual([]);
  const both = await withArchive(optionsFor(data));
  expect((await listSessions(both)).data.map((session) => session.id)).toEqual([id]);
  expect((await getSession(id, both)).messages).toEqual(before.session.messages);
  expect((await searchSessions("needle", both)).pagination.total).toBe(2);
  expect((await getUsage(both)).totals).toEqual(before.usage.totals);
});

test("a session in the data directory and in the archive is read once, from the data directory", async () => {
  const data = prepared();
  await archive(optionsFor(data));
  const both = await withArchive(optionsFor(data));
  expect(both.dataPath).toBe(data.root);
  expect((await listSessions(both)).data).toHaveLength(1);
});

test("archiving copies only new bytes, and keeps the old bytes of a rewritten file", async () => {
  const data = prepared();
  const size = statSync(data.path(main)).size;
  await archive(optionsFor(data));
  expect(await archive(optionsFor(data))).toMatchObject({ changedFiles: 0, newBytes: 0 });
  const more = jsonLines([{ type: "mode" }]);
  appendFileSync(data.path(main), more);
  expect(await archive(optionsFor(data))).toMatchObject({ changedFiles: 1, newBytes: more.length });
  expect(pieces(data)).toHaveLength(2);
  // The new file is longer, so only its content shows that it was rewritten.
  writeFileSync(data.path(main), jsonLines([{ type: "other", text: "x".repeat(size * 2) }]));
  await archive(optionsFor(data));
  expect(pieces(data).map((name) => name.slice(0, 5))).toEqual(["g0001", "g0001", "g0002"]);
  writeFileSync(data.path(main), jsonLines([{ type: "short" }]));
  await archive(optionsFor(data));
  expect(pieces(data)).toHaveLength(4);
});

test("archiving one project or time range copies only the files of its sessions", async () => {
  const data = prepared();
  const other = sessionId(2);
  const there = conversation("2026-11-05T10:00:00.000Z", { cwd: "/work/there" });
  data.session(other, [there.user("elsewhere")], "-work-there");
  data.write(`file-history/${id}/abc@v1`, "old");
  data.write(`file-history/${other}/abc@v1`, "old");
  const wanted = { ...optionsFor(data), workspace: "/work/app" };
  expect(await archive(wanted)).toMatchObject({ files: 2, changedFiles: 2 });
  const since = new Date("2026-11-04T00:00:00Z");
  expect(await archive({ ...optionsFor(data), since })).toMatchObject({ files: 2, changedFiles: 2 });
});

test("many small pieces of an archived file are merged into one, and restore writes the whole file", async () => {
  const data = prepared();
  const counts: number[] = [];
  for (let run = 0; run < 20; run += 1) {
    appendFileSync(data.path(main), jsonLines([{ type: "mode", run }]));
    await archive(optionsFor(data));
    counts.push(pieces(data).length);
  }
  expect(counts).toEqual([...Array.from({ length: 16 }, (_, run) => run + 1), 1, 2, 3, 4]);
  const text = readFileSync(data.path(main), "utf8");
  rmSync(data.path(main));
  await restoreSession(id, optionsFor(data));
  expect(readFileSync(data.path(main), "utf8")).toBe(text);
});

test("restore writes all files of a session with equal bytes and the current time", async () => {
  const data = createDataDirectory();
  const [first = ""] = fill(data, 2);
  utimesSync(data.path("projects", "-work-app", `${first}.jsonl`), 1000, 1000);
  await archive(optionsFor(data));
  const before = snapshot(data.root);
  for (const path of Object.keys(before))
    if (path.includes(first) || path.includes("agent-b2")) rmSync(data.path(path));
  const result = await restoreSession(first.slice(0, 8), optionsFor(data));
  expect(result).toMatchObject({ sessionId: first, present: [], conflicts: [] });
  expect(result.restored.at(-1)).toBe(join("projects", "-work-app", `${first}.jsonl`));
  expect(snapshot(data.root)).toEqual(before);
  expect(Date.now() - statSync(data.path("projects", "-work-app", `${first}.jsonl`)).mtimeMs).toBeLessThan(60_000);
});

test("restore does not overwrite files", async () => {
  const data = prepared();
  await archive(optionsFor(data));
  writeFileSync(data.path(main), "another one\n");
  expect(await restoreSession(id, optionsFor(data))).toMatchObject({ restored: [], conflicts: [main] });
  expect(readFileSync(data.path(main), "utf8")).toBe("another one\n");
  await expect(restoreSession("ffff", optionsFor(data))).rejects.toMatchObject({ name: "SessionNotFoundError" });
});

test("if archiving is killed at a file operation (every fourth is tried), the next run completes the archive", async () => {
  const data = createDataDirectory();
  fill(data, 1);
  const { calls } = await withFault(0, "once", () => archive(optionsFor(data)));
  for (let at = 1; at <= calls; at += 4) {
    const other = createDataDirectory();
    fill(other, 1);
    const before = snapshot(other.root);
    await withFault(at, "killed", () => archive(optionsFor(other)));
    await archive(optionsFor(other));
    for (const path of Object.keys(before)) if (path.includes(id)) rmSync(other.path(path));
    rmSync(other.path("projects", "-work-app", "agent-b2.jsonl"));
    await restoreSession(id, optionsFor(other));
    expect([at, snapshot(other.root)]).toEqual([at, before]);
  }
  expect(calls).toBeGreaterThan(20);
});

test("several processes can archive at the same time", async () => {
  const data = prepared();
  const code = `const { archive } = await import(${JSON.stringify(fileURLToPath(new URL("../src/index.ts", import.meta.url)))});
    await Promise.all([1, 2, 3].map(() => archive(${JSON.stringify(optionsFor(data))})));`;
  const args = [
    "--conditions=@skein/source",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    code,
  ];
  const codes = await Promise.all(
    [1, 2, 3].map(async () => (await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit"))[0] as number),
  );
  expect(codes).toEqual([0, 0, 0]);
  expect(pieces(data)).toHaveLength(1);
});

test("restore throws an error for a damaged piece of the archive, and does not write the file", async () => {
  const data = prepared();
  await archive(optionsFor(data));
  const { archiveFolder } = optionsFor(data);
  const [root = ""] = readdirSync(archiveFolder).filter((name) => /^[0-9a-f]{16}$/.test(name));
  const [name = ""] = pieces(data);
  const path = join(archiveFolder, root, "files", main, name);
  const bytes = readFileSync(path);
  bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
  rmSync(data.path(main));
  await expect(restoreSession(id, optionsFor(data))).rejects.toThrow();
  expect(existsSync(data.path(main))).toBe(false);
});
