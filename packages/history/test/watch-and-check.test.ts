import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkFormat, verify, watch, type WatchEvent } from "../src/index.ts";
import type { DataFile } from "../src/model/data-file.ts";
import { discover } from "../src/sources/discover.ts";
import { createTail } from "../src/watch/tail.ts";
import { conversation, createDataDirectory, jsonLines, sessionId } from "./data-directory.ts";

/** Watches the data directory, calls `act`, and returns the events as soon as `enough` returns true, or after 8 s. */
async function collect(
  config: { dataPath: string; cacheFolder: null },
  act: () => Promise<void> | void,
  enough: (events: readonly WatchEvent[]) => boolean,
): Promise<readonly WatchEvent[]> {
  const stop = new AbortController();
  const events: WatchEvent[] = [];
  const timer = setTimeout(() => stop.abort(), 8000);
  const done = (async () => {
    for await (const event of watch({ ...config, signal: stop.signal })) {
      events.push(event);
      if (enough(events)) break;
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 150));
  await act();
  await done;
  clearTimeout(timer);
  return events;
}

describe("watching", () => {
  test("watch reports only new and complete lines, within 200 ms", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [talk.user("old")]);
    const path = `projects/-work-app/${sessionId(1)}.jsonl`;
    let wrote = 0;
    let heard = 0;
    const line = jsonLines([talk.user("new"), talk.answer("newer")]);
    const events = await collect(
      data.config,
      async () => {
        data.append(path, line.slice(0, 50));
        await new Promise((resolve) => setTimeout(resolve, 300));
        data.append(path, line.slice(50));
        wrote = performance.now();
      },
      () => {
        heard = performance.now();
        return true;
      },
    );
    expect(events).toMatchObject([
      { type: "lines", lines: [{ value: { type: "user" } }, { value: { type: "assistant" } }] },
    ]);
    expect(heard - wrote).toBeLessThan(200);
  });

  test("new lines of a file that cannot be opened for a moment are reported at the next check", () => {
    const data = createDataDirectory();
    const talk = conversation();
    const path = data.session(sessionId(1), [talk.user("old")]);
    const found = (): DataFile => {
      const [file] = discover(data.config).files;
      if (!file) throw new Error("no such session");
      return file;
    };
    const tail = createTail(found(), "end");
    data.append(`projects/-work-app/${sessionId(1)}.jsonl`, jsonLines([talk.user("new")]));
    const grown = found();
    renameSync(path, `${path}.away`);
    expect(tail.read(grown)).toEqual([]);
    renameSync(`${path}.away`, path);
    expect(tail.read(grown)).toMatchObject([{ type: "lines", lines: [{ value: { message: { content: "new" } } }] }]);
    expect(tail.read(grown)).toEqual([]);
  });

  test("watch reports new sessions, subagents, rewritten files and removed files", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation().user("here before, and long enough to be cut")]);
    const events = await collect(
      data.config,
      async () => {
        data.session(sessionId(2), [conversation().user("hello")], "-brand-new");
        data.write(
          `projects/-brand-new/${sessionId(2)}/subagents/agent-a1.jsonl`,
          jsonLines([conversation().user("sub")]),
        );
        data.session(sessionId(1), [conversation().user("cut")]);
        await new Promise((resolve) => setTimeout(resolve, 100));
        rmSync(data.path("projects/-brand-new"), { recursive: true });
      },
      (seen) => seen.filter(({ type }) => type === "removed").length === 2,
    );
    const types = events.map(({ type, file }) => `${type} ${file.agentId ?? file.sessionId?.slice(0, 8)}`);
    for (const expected of [
      "session 00000002",
      "lines 00000002",
      "session a1",
      "lines a1",
      "rewritten 00000001",
      "removed 00000002",
    ]) {
      expect(types).toContain(expected);
    }
  });
});

describe("checking", () => {
  test("verify lists all damage with file and line, and all skipped files", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const good = data.session(sessionId(1), [talk.user("fine")]);
    const bad = data.write(
      `projects/-work-app/${sessionId(2)}.jsonl`,
      `${jsonLines([talk.user("a")])}nonsense\n${jsonLines([talk.answer("b")])}{"torn`,
    );
    execFileSync("mkfifo", [data.path("projects/-work-app/pipe.jsonl")]);
    const report = await verify(data.config);
    expect(report).toMatchObject({ files: 2, lines: 3 });
    expect(report.damage.map(({ path, line, kind }) => [path, line, kind])).toEqual([
      [bad, 2, "not-json"],
      [bad, 4, "torn"],
    ]);
    expect(report.skipped).toMatchObject([{ reason: "pipe" }]);
    expect(report.damage.some(({ path }) => path === good)).toBe(false);
  });

  test("verify and checkFormat read only sessions of the selected project or time", async () => {
    const data = createDataDirectory();
    const there = conversation("2026-11-01T10:00:00.000Z", { cwd: "/work/there" });
    data.session(sessionId(1), [there.user("x"), { type: "odd" }], "-work-there");
    data.session(sessionId(2), [conversation("2026-11-02T10:00:00.000Z").user("y")]);
    data.write(`projects/-work-app/${sessionId(2)}/subagents/agent-a1.jsonl`, "broken\n");
    const chosen = { ...data.config, workspace: "/work/there" };
    expect(await verify(chosen)).toMatchObject({ files: 1, lines: 2, damage: [] });
    expect((await checkFormat(chosen)).unknownLines).toBe(1);
    const newer = { ...data.config, since: new Date("2026-11-02T00:00:00Z") };
    expect(await verify(newer)).toMatchObject({ files: 2, lines: 1, damage: [{ kind: "not-json" }] });
    expect((await checkFormat(newer)).unknownLines).toBe(0);
    await expect(verify({ ...data.config, workspace: "/nowhere" })).rejects.toThrow("/nowhere");
  });

  test("checkFormat counts and shows unknown types", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const path = data.session(sessionId(1), [
      talk.user("x"),
      talk.answer([{ type: "hologram", beam: 1 }]),
      { type: "from-the-future", payload: 1 },
      { type: "from-the-future", payload: 2 },
      { type: "summary", summary: { now: "an object" } },
      { type: "mode", mode: "x" },
    ]);
    const report = await checkFormat(data.config);
    expect(report.unknownLines).toBe(2);
    expect(report.lineTypes.find(({ isKnown }) => !isKnown)).toEqual({
      type: "from-the-future",
      count: 2,
      isKnown: false,
      path,
      line: 3,
      fields: ["type", "payload"],
    });
    expect(report.blockTypes.find(({ isKnown }) => !isKnown)).toMatchObject({ type: "hologram", count: 1 });
    expect(report.formProblems).toMatchObject([{ type: "summary", field: "summary", count: 1, line: 5 }]);
    expect(report.versions).toEqual({ "2.1.300": 2 });
  });
});

test("every reading function works on a read-only data directory", async () => {
  const data = createDataDirectory();
  const talk = conversation();
  data.session(sessionId(1), [talk.user("hello"), talk.answer("hi")]);
  data.write("history.jsonl", jsonLines([{ display: "x", pastedContents: {}, timestamp: 1, project: "/a" }]));
  mkdirSync(data.cacheFolder, { recursive: true });
  const script = `
    import * as library from ${JSON.stringify(join(import.meta.dirname, "../src/index.ts"))};
    import { writeFileSync } from "node:fs";
    const config = { dataPath: process.argv[1], cacheFolder: process.argv[2] };
    try { writeFileSync(process.argv[1] + "/probe", ""); console.log("not read-only"); } catch {}
    await library.listSessions(config); await library.getSession(0, config); await library.getUsage(config);
    await library.buildIndex(config); await library.searchSessions("hello", config); await library.exportSessionToHtml(0, config);
    await library.getFileHistory(0, config); await library.listPlans(config); await library.listTodos(config); await library.listTasks(config);
    await library.readHistory(config); await library.readStats(config); await library.verify(config); await library.checkFormat(config);
    console.log("done");
  `;
  const mount = `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$0" --conditions=@skein/source --disable-warning=ExperimentalWarning --input-type=module -e "$3" "$1" "$2"`;
  // Root can mount in a new namespace. Another user must first become root in a user namespace.
  const isRoot = process.getuid?.() === 0;
  const args = [isRoot ? "-m" : "-rm", "sh", "-c", mount, process.execPath, data.root, data.cacheFolder, script];
  const run = spawnSync("unshare", args, { encoding: "utf8" });
  expect(run.stdout + run.stderr).toBe("done\n");
});
