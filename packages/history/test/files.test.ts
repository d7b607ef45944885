import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { diffLines, getFileHistory, listPlans, listTasks, listTodos, readHistory, readStats } from "../src/index.ts";
import { conversation, createDataDirectory, jsonLines, sessionId } from "./data-directory.ts";

describe("file history", () => {
  const hash = createHash("sha256").update("/work/app/src/a.ts").digest("hex").slice(0, 16);
  const backup = (version: number, name: string | null = `${hash}@v${version}`): object => ({
    backupFileName: name,
    version,
    backupTime: "2026-11-01T10:00:00.000Z",
  });
  const snapshot = (messageId: string, files: object, isSnapshotUpdate = false): Record<string, unknown> => ({
    type: "file-history-snapshot",
    messageId,
    isSnapshotUpdate,
    snapshot: { messageId, timestamp: "2026-11-01T10:00:00.000Z", trackedFileBackups: files },
  });

  test("the file history has the versions of each file and its text at each message", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      snapshot("m1", {}),
      talk.user("one", { uuid: "m1" }),
      snapshot("m2", { "src/a.ts": backup(1) }),
      talk.user("two", { uuid: "m2" }),
      snapshot("m3", { "src/a.ts": backup(2), "new.ts": backup(1, null) }),
      {
        type: "file-history-delta",
        snapshotMessageId: "m3",
        trackingPath: "late.ts",
        backup: backup(1, "../../../etc/passwd"),
      },
      { type: "file-history-delta", snapshotMessageId: "m3", trackingPath: "src/a.ts", backup: backup(9) },
    ]);
    data.write(`file-history/${sessionId(1)}/${hash}@v1`, "first\n");
    data.write(`file-history/${sessionId(1)}/${hash}@v2`, "second\n");
    const history = await getFileHistory(0, data.config);
    const file = history.files.find(({ trackingPath }) => trackingPath === "src/a.ts");
    expect(file?.path).toBe("/work/app/src/a.ts");
    expect(file?.versions.map(({ version, messageUuid }) => [version, messageUuid])).toEqual([
      [1, "m2"],
      [2, "m3"],
    ]);
    expect(history.contentAt("/work/app/src/a.ts", "m1")).toBe("first\n");
    expect(history.contentAt("src/a.ts", "m2")).toBe("first\n");
    expect(history.contentAt("src/a.ts", "m3")).toBe("second\n");
    expect(history.contentAt("new.ts", "m3")).toBeNull();
    expect(history.contentAt("late.ts", "m3")).toBeUndefined();
    expect(history.contentAt("src/a.ts", "nobody")).toBeUndefined();
  });

  test.each([
    ["", "", ""],
    ["a\nb\nc\n", "a\nb\nc\n", " a b c"],
    ["a\nb\nc\n", "a\nx\nc\n", " a-b+x c"],
    ["", "a\n", "+a"],
    ["a\nb\n", "", "-a-b"],
    ["a\nb\nc\nd\n", "b\nc\ne\nd\n", "-a b c+e d"],
  ])("the diff of %j and %j is %j", (before, after, expected) => {
    const marks = { same: " ", removed: "-", added: "+" };
    expect(
      diffLines(before, after)
        .map(({ kind, text }) => marks[kind] + text)
        .join(""),
    ).toBe(expected);
  });

  test("the two texts can be made again from their diff, for random texts", () => {
    let seed = 1;
    const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
    for (let round = 0; round < 200; round += 1) {
      const text = (): string =>
        Array.from({ length: Math.floor(random() * 12) }, () => "abc".charAt(Math.floor(random() * 3)) + "\n").join("");
      const [before, after] = [text(), text()];
      const lines = diffLines(before, after);
      const join = (kinds: readonly string[]): string =>
        lines
          .filter(({ kind }) => kinds.includes(kind))
          .map((line) => `${line.text}\n`)
          .join("");
      expect(join(["same", "removed"])).toBe(before);
      expect(join(["same", "added"])).toBe(after);
    }
  });
});

test("plans are listed with their structure, also from the folder that the setting plansDirectory names", async () => {
  const data = createDataDirectory();
  data.write("plans/keen-juggling-origami.md", "# Do it\n## Notes\nx\n### Phase 1\n- [x] a\n");
  expect(await listPlans(data.config)).toMatchObject([
    {
      name: "keen-juggling-origami",
      title: "Do it",
      phases: [{ title: "Phase 1", items: [{ text: "a", done: true }] }],
    },
  ]);
  data.write("settings.json", JSON.stringify({ plansDirectory: data.path("elsewhere") }));
  data.write("elsewhere/other.md", "# Other\n");
  expect((await listPlans(data.config)).map(({ title }) => title)).toEqual(["Other"]);
});

test("todo lists and task lists are listed, and a list that is not JSON says so", async () => {
  const data = createDataDirectory();
  data.write(`todos/${sessionId(1)}-agent-${sessionId(1)}.json`, JSON.stringify([{ content: "a", status: "pending" }]));
  data.write(`todos/${sessionId(2)}-agent-${sessionId(2)}.json`, "{broken");
  const todos = await listTodos(data.config);
  expect(todos.find((list) => list.sessionId === sessionId(1))).toMatchObject({
    items: [{ content: "a" }],
    problem: null,
  });
  expect(todos.find((list) => list.sessionId === sessionId(2))).toMatchObject({ items: [], problem: "not JSON" });
  for (const id of ["10", "2"])
    data.write(
      `tasks/${sessionId(1)}/${id}.json`,
      JSON.stringify({ id, subject: `s${id}`, status: "pending", blocks: [], blockedBy: [] }),
    );
  data.write(`tasks/${sessionId(1)}/.lock`, "");
  const [tasks] = await listTasks(data.config);
  expect(tasks?.tasks.map(({ subject }) => subject)).toEqual(["s2", "s10"]);
});

test("the prompt history is read newest first, in pages, and damage is reported", async () => {
  const data = createDataDirectory();
  const entry = (n: number, project: string): Record<string, unknown> => ({
    display: `p${n}`,
    pastedContents: {},
    timestamp: 1_760_000_000_000 + n,
    project,
  });
  data.write("history.jsonl", `${jsonLines([entry(1, "/a"), entry(2, "/b")])}{"torn\n${jsonLines([entry(3, "/a")])}`);
  const page = await readHistory({ ...data.config, limit: 2 });
  expect(page.data.map(({ display }) => display)).toEqual(["p3", "p2"]);
  expect(page.pagination).toMatchObject({ total: 3, hasMore: true });
  expect(page.damage).toMatchObject([{ line: 3 }]);
  expect((await readHistory({ ...data.config, workspace: "/a" })).data.map(({ display }) => display)).toEqual([
    "p3",
    "p1",
  ]);
});

test("the statistics file of Claude Code is read if it exists", async () => {
  const data = createDataDirectory();
  expect(await readStats(data.config)).toEqual([]);
  data.write("stats-cache.json", JSON.stringify({ version: 2, dailyActivity: [], totalSessions: 4 }));
  expect(await readStats(data.config)).toMatchObject([{ stats: { version: 2, totalSessions: 4 } }]);
});
