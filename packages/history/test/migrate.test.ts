import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  getSession,
  listMigrations,
  listSessions,
  migrateSession,
  migrateWorkspace,
  undoMigration,
  type LibraryConfig,
  type MigrateOptions,
} from "../src/index.ts";
import { mapPath } from "../src/migrate/path-mapping.ts";
import { rewriteLine } from "../src/sources/claude-code/migrate/rewrite-line.ts";
import { createDataDirectory, sessionId, type DataDirectory } from "./data-directory.ts";
import { withWrongBytes } from "./migrate-faults.ts";
import { away, fill, home, lines, snapshot, text } from "./migrate-world.ts";

const awaySlug = "-work-other-place";

function optionsFor(data: DataDirectory): LibraryConfig & MigrateOptions & { journalFolder: string } {
  return { ...data.config, journalFolder: join(data.cacheFolder, "migrations") };
}

test.each([
  ["the folder itself", "/a/b", "/c"],
  ["a file in it", "/a/b/x.ts", "/c/x.ts"],
  ["a neighbour with a longer name", "/a/bc", undefined],
  ["a neighbour with a dash", "/a/b-c/x", undefined],
  ["the same name elsewhere", "/x/a/b", undefined],
  ["a relative path", "a/b", undefined],
])("only whole folder names in a path are replaced: %s", (_, path, expected) => {
  expect(mapPath(path, [{ from: "/a/b", to: "/c" }])?.path).toBe(expected);
});

test.each([
  ["C:\\git\\app", "D:\\new"],
  ["C:\\git\\app\\src\\a.ts", "D:\\new\\src\\a.ts"],
  ["c:/git/APP/src", "D:\\new/src"],
  ["C:\\git\\app2\\a.ts", undefined],
])("a Windows path is replaced with any case and separators: %s", (path, expected) => {
  expect(mapPath(path, [{ from: "C:\\git\\app", to: "D:\\new" }])?.path).toBe(expected);
});

test("a mapping from Windows to another system changes the separators", () => {
  expect(mapPath("C:\\git\\app\\src\\a.ts", [{ from: "C:\\git\\app", to: "/new" }])?.path).toBe("/new/src/a.ts");
});

test("rewriting a line changes only path fields and no other byte", () => {
  const before = text(lines());
  const after = before
    .split("\n")
    .map((line) => (rewriteLine(Buffer.from(line), [{ from: home, to: away }])?.bytes ?? Buffer.from(line)).toString())
    .join("\n");
  const expected = before
    .split("\n")
    .map((line) => {
      if (line.includes("from-the-future") || line.includes(" torn")) return line;
      return line
        .replaceAll(/"(cwd|file_path|filePath)"( ?: ?)"\/work\/app(?=["/])/g, `"$1"$2"${away}`)
        .replace('"filenames":["/work/app"', `"filenames":["${away}"`)
        .replace('{"/work/app/src/a.ts":', `{"${away}/src/a.ts":`);
    })
    .join("\n");
  expect(after).toBe(expected);
  expect(after).toContain("look at /work/app/src/a.ts and /work/app-old/b.ts");
  expect(after).toContain("c2lnbmF0dXJl/work/app==");
  expect(after).toContain('"/work/appc/no"');
  expect(after).toContain('"n":1.50e2,"text":"\\u0041 /work/app"');
});

test("a copy does not change the source, and the session is found in both places", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  const before = snapshot(data.root);
  const result = await migrateSession({ sessions: id, destination: away }, optionsFor(data));
  expect(result).toMatchObject({ successCount: 1, failedCount: 0, errors: [] });
  const after = snapshot(data.root);
  for (const [path, hash] of Object.entries(before)) if (path !== "history.jsonl") expect(after[path]).toBe(hash);
  expect((await getSession(id, { ...data.config, workspace: away })).projectPath).toBe(away);
  expect((await getSession(id, { ...data.config, workspace: home })).projectPath).toBe(home);
  expect(readFileSync(data.path("history.jsonl"), "utf8")).toContain(`"project":"${away}"`);
});

test("a move includes subagents, results and old agent files, and removes all of them from the source", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  const old = statSync(data.path("projects", "-work-app", `${id}.jsonl`)).mtimeMs;
  const result = await migrateSession({ sessions: [id], destination: away, mode: "move" }, optionsFor(data));
  expect(result).toMatchObject({ successCount: 1, failedCount: 0 });
  expect(result.sessions[0]).toMatchObject({ files: 5, from: home, to: away });
  expect(readdirSync(data.path("projects", "-work-app"))).toEqual(["memory"]);
  expect(readdirSync(data.path("projects", awaySlug)).sort()).toEqual([id, `${id}.jsonl`, "agent-b2.jsonl"]);
  const session = await getSession(id, data.config);
  expect(session.agentIds.toSorted()).toEqual(["a1", "b2"]);
  expect(statSync(session.path).mtimeMs).toBeCloseTo(old, 0);
  expect(readFileSync(data.path("projects", awaySlug, id, "tool-results", "t1.txt"), "utf8")).toBe(`output of ${home}`);
  const history = readFileSync(data.path("history.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { project: string });
  expect(history.map(({ project }) => project)).toEqual([away, `${home}c`, home]);
  expect(JSON.parse(readFileSync(data.path(".claude.json"), "utf8"))).toHaveProperty(["projects", home]);
});

test("a workspace is moved with its memory, all prompts and its settings, and undo restores every byte", async () => {
  const data = createDataDirectory();
  fill(data, 3);
  const before = snapshot(data.root);
  const result = await migrateWorkspace({ source: home, destination: away, mode: "move" }, optionsFor(data));
  expect(result).toMatchObject({ successCount: 3, failedCount: 0 });
  expect(existsSync(data.path("projects", "-work-app"))).toBe(false);
  expect(readFileSync(data.path("projects", awaySlug, "memory", "MEMORY.md"), "utf8")).toBe(`# ${home}`);
  const settings = readFileSync(data.path(".claude.json"), "utf8");
  expect(settings).toContain(`"${away}": {\n      "allowedTools"`);
  expect(settings).not.toContain(`"${home}":`);
  expect(readFileSync(data.path("history.jsonl"), "utf8")).not.toContain(`"project":"${home}"`);
  const undone = await undoMigration(undefined, optionsFor(data));
  expect(undone).toMatchObject({ migrationId: result.migrationId, successCount: 3, failedCount: 0 });
  expect(snapshot(data.root)).toEqual(before);
  await expect(undoMigration(undefined, optionsFor(data))).rejects.toThrow("no migration to undo");
  expect((await listMigrations(optionsFor(data))).map(({ kind, isUndone }) => [kind, isUndone])).toEqual([
    ["undo", false],
    ["migrate", true],
  ]);
});

test("a move checks the copy: if the disk stores other bytes, the move fails and the source stays unchanged", async () => {
  const data = createDataDirectory();
  fill(data);
  const before = snapshot(data.path("projects"));
  const move = () => migrateSession({ sessions: 0, destination: away, mode: "move" }, optionsFor(data));
  expect(await withWrongBytes("c2lnbmF0dXJl", move)).toMatchObject({
    successCount: 0,
    errors: [{ code: "io", message: expect.stringContaining("is not what the migration wrote") }],
  });
  expect(snapshot(data.path("projects"))).toEqual(before);
});

test("undo of a copy removes only the copy, its prompts and its settings", async () => {
  const data = createDataDirectory();
  fill(data, 2);
  const before = snapshot(data.root);
  await migrateWorkspace({ source: home, destination: away }, optionsFor(data));
  expect(Object.keys(snapshot(data.root)).length).toBeGreaterThan(Object.keys(before).length);
  await undoMigration(undefined, optionsFor(data));
  expect(snapshot(data.root)).toEqual(before);
});

test("undo rejects a session that was continued after the migration", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  await migrateSession({ sessions: id, destination: away, mode: "move" }, optionsFor(data));
  appendFileSync(data.path("projects", awaySlug, `${id}.jsonl`), '{"type":"mode"}\n');
  const after = snapshot(data.root);
  expect(await undoMigration(undefined, optionsFor(data))).toMatchObject({
    failedCount: 1,
    errors: [{ code: "changed" }],
  });
  expect(snapshot(data.root)).toEqual(after);
});

test("a migration to another data directory includes the files that are not stored by project", async () => {
  const data = createDataDirectory();
  const other = createDataDirectory();
  const [id = ""] = fill(data);
  const result = await migrateSession(
    { sessions: id, destination: away, mode: "move" },
    { ...optionsFor(data), destinationRoot: other.root },
  );
  expect(result).toMatchObject({ successCount: 1 });
  for (const path of [
    `file-history/${id}/0123456789abcdef@v1`,
    `tasks/${id}/1.json`,
    `todos/${id}-agent-${id}.json`,
    `projects/${awaySlug}/${id}.jsonl`,
  ]) {
    expect([path, existsSync(other.path(path)), existsSync(data.path(path))]).toEqual([path, true, false]);
  }
  expect(readFileSync(other.path("history.jsonl"), "utf8").trim().split("\n")).toHaveLength(1);
  expect(readFileSync(data.path("history.jsonl"), "utf8").trim().split("\n")).toHaveLength(2);
});

test("a dry run reports the planned changes and writes nothing", async () => {
  const data = createDataDirectory();
  fill(data, 2);
  const before = snapshot(data.root);
  const result = await migrateWorkspace(
    { source: home, destination: away, mode: "move" },
    { ...optionsFor(data), dryRun: true },
  );
  expect(result).toMatchObject({ successCount: 2, migrationId: null });
  expect(result.sessions[0]?.rewrittenPaths).toBeGreaterThan(5);
  expect(snapshot(data.root)).toEqual(before);
  expect(existsSync(data.cacheFolder)).toBe(false);
});

test.each([
  ["the same path", home, "same-place"],
  ["the source path with a slash at the end", `${home}/`, "same-place"],
  ["a path inside the source", `${home}/sub`, "inside-source"],
])("a migration to %s is rejected", async (_, destination, code) => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  await expect(migrateWorkspace({ source: home, destination }, optionsFor(data))).rejects.toMatchObject({ code });
  expect(await migrateSession({ sessions: id, destination }, optionsFor(data))).toMatchObject({
    failedCount: 1,
    errors: [{ code }],
  });
});

test("a session that is open in Claude Code is rejected until the process ends", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  const before = snapshot(data.root);
  data.write(`sessions/${process.pid}.json`, JSON.stringify({ pid: process.pid, sessionId: id }));
  expect(await migrateSession({ sessions: id, destination: away, mode: "move" }, optionsFor(data))).toMatchObject({
    successCount: 0,
    errors: [{ code: "live" }],
  });
  expect(snapshot(data.root)).toMatchObject(before);
  data.write(`sessions/${process.pid}.json`, JSON.stringify({ pid: 4_000_000, sessionId: id }));
  expect(await migrateSession({ sessions: id, destination: away, mode: "move" }, optionsFor(data))).toMatchObject({
    successCount: 1,
  });
});

test("a session that grows during a move stays in the source", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  const path = data.path("projects", "-work-app", `${id}.jsonl`);
  const { transferSession } = await import("../src/migrate/transfer.ts");
  const { planSession } = await import("../src/sources/claude-code/migrate/plan.ts");
  const { discover } = await import("../src/index.ts");
  const { openJournal } = await import("../src/migrate/journal.ts");
  const file = discover(data.config).files.find((found) => found.sessionId === id && found.kind === "session");
  if (!file) throw new Error("no session");
  const plan = planSession({
    file,
    agents: [],
    slugs: [],
    source: home,
    destination: away,
    destinationRoot: data.root,
  });
  appendFileSync(path, '{"type":"mode"}\n');
  const before = snapshot(data.root);
  expect(() => transferSession(plan, "move", openJournal(data.cacheFolder, "x"))).toThrow(
    "changed during the migration",
  );
  expect(snapshot(data.root)).toEqual(before);
});

test.each([
  ["another file", (path: string) => writeFileSync(path, "something else\n")],
  ["a link", (path: string) => symlinkSync("/nowhere", path)],
  ["a folder", (path: string) => mkdirSync(path)],
])("%s at the destination is never overwritten", async (_, make) => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  mkdirSync(data.path("projects", awaySlug));
  make(data.path("projects", awaySlug, `${id}.jsonl`));
  const before = snapshot(data.root);
  const result = await migrateSession(
    { sessions: id, destination: away, mode: "move" },
    { ...optionsFor(data), workspace: home },
  );
  expect(result).toMatchObject({ successCount: 0, failedCount: 1, errors: [{ sessionId: id, code: "exists" }] });
  expect(snapshot(data.root)).toEqual(before);
});

test("an equal session at the destination is no conflict, and undo does not remove it", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  await migrateSession({ sessions: id, destination: away }, optionsFor(data));
  const copied = snapshot(data.path("projects", awaySlug));
  const before = snapshot(data.path("projects"));
  expect(
    await migrateSession({ sessions: 0, destination: away, mode: "move" }, { ...optionsFor(data), workspace: home }),
  ).toMatchObject({ successCount: 1 });
  expect(snapshot(data.path("projects", awaySlug))).toEqual(copied);
  expect(existsSync(data.path("projects", "-work-app", `${id}.jsonl`))).toBe(false);
  await undoMigration(undefined, optionsFor(data));
  expect(snapshot(data.path("projects"))).toEqual(before);
});

test("for two paths with one folder name, a move rewrites files in place, undo restores them, and a copy is rejected", async () => {
  const data = createDataDirectory();
  fill(data, 1, "/work/my.app");
  const before = snapshot(data.root);
  expect(
    await migrateWorkspace({ source: "/work/my.app", destination: "/work/my-app" }, optionsFor(data)),
  ).toMatchObject({ errors: [{ code: "same-place" }] });
  expect(snapshot(data.root)).toEqual(before);
  expect(
    await migrateWorkspace({ source: "/work/my.app", destination: "/work/my-app", mode: "move" }, optionsFor(data)),
  ).toMatchObject({ successCount: 1 });
  expect((await listSessions(data.config)).data.map(({ projectPath }) => projectPath)).toEqual(["/work/my-app"]);
  await undoMigration(undefined, optionsFor(data));
  expect(snapshot(data.root)).toEqual(before);
});

test("sessions with Windows paths are moved, and their paths are rewritten", async () => {
  const data = createDataDirectory();
  const said = {
    type: "user",
    uuid: "u",
    cwd: "C:\\git\\app",
    timestamp: "2026-11-01T10:00:00.000Z",
    message: { role: "user", content: "in C:\\git\\app" },
  };
  const read = {
    type: "assistant",
    message: {
      id: "m",
      content: [{ type: "tool_use", id: "t", name: "Read", input: { file_path: "c:\\git\\app\\a.ts" } }],
    },
  };
  data.session(sessionId(1), [said, read], "C--git-app");
  await migrateWorkspace({ source: "c:\\git\\app\\", destination: "D:\\new app", mode: "move" }, optionsFor(data));
  const moved = readFileSync(data.path("projects", "D--new-app", `${sessionId(1)}.jsonl`), "utf8");
  expect(moved).toContain(String.raw`"cwd":"D:\\new app"`);
  expect(moved).toContain(String.raw`"file_path":"D:\\new app\\a.ts"`);
  expect(moved).toContain(String.raw`"content":"in C:\\git\\app"`);
});

test("links in a session's files stay links, and a project folder that is a link is rejected", async () => {
  const data = createDataDirectory();
  const [id = ""] = fill(data);
  symlinkSync("/etc/hostname", data.path("projects", "-work-app", id, "link"));
  await migrateSession({ sessions: id, destination: away, mode: "move" }, optionsFor(data));
  expect(snapshot(data.path("projects", awaySlug))[join(id, "link")]).toBe("/etc/hostname");
  mkdirSync(data.path("elsewhere"));
  symlinkSync(data.path("elsewhere"), data.path("projects", "-linked"));
  expect(await migrateSession({ sessions: id, destination: "/linked", mode: "move" }, optionsFor(data))).toMatchObject({
    errors: [{ code: "not-a-folder" }],
  });
  expect(readdirSync(data.path("elsewhere"))).toEqual([]);
});

test("an unknown session is reported as an error, and all known sessions are migrated", async () => {
  const data = createDataDirectory();
  const [first = ""] = fill(data, 2);
  utimesSync(data.path("projects", "-work-app", `${first}.jsonl`), 1, 1);
  const result = await migrateSession(
    { sessions: [first, "no-such"], destination: away, mode: "move" },
    optionsFor(data),
  );
  expect(result).toMatchObject({
    successCount: 1,
    failedCount: 1,
    errors: [{ sessionId: "no-such", code: "unknown-session" }],
  });
});
