/**
 * Tests files without read permission. If the tests run as root, another user makes the calls, because root may read
 * everything.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { conversation, createDataDirectory, sessionId, type DataDirectory } from "./data-directory.ts";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * Runs `body` in an async function with `library` and `config` in a new process, and returns its result. If the tests
 * run as root, the process runs as the user nobody.
 */
function asNobody(data: DataDirectory, body: string, cacheFolder: string | null = null): unknown {
  const library = JSON.stringify(join(import.meta.dirname, "../src/index.ts"));
  const script = `
    import * as library from ${library};
    const config = ${JSON.stringify({ dataPath: data.root, cacheFolder })};
    const attempt = (call) => call.then(() => "worked", (error) => error.code ?? error.name);
    console.log(JSON.stringify(await (async () => { ${body} })()));`;
  // The user nobody needs access to the folder of the test.
  chmodSync(dirname(data.root), 0o755);
  const flags = [
    "--conditions=@skein/source",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    script,
  ];
  const run = spawnSync(process.execPath, flags, {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as unknown;
}

function library(): DataDirectory {
  const data = createDataDirectory();
  for (const [number, project] of [
    [1, "-work-app"],
    [2, "-work-app"],
    [3, "-work-other"],
  ] as const) {
    const talk = conversation(`2026-11-0${number}T10:00:00.000Z`);
    data.session(sessionId(number), [talk.user(`hello ${number}`), talk.answer("hi")], project);
  }
  return data;
}

describe.skipIf(process.platform === "win32")("without permission", () => {
  test("a transcript without read permission is reported, and all other transcripts are read", () => {
    const data = library();
    const path = data.path("projects/-work-app", `${sessionId(2)}.jsonl`);
    chmodSync(path, 0);
    const found = asNobody(
      data,
      `const { unreadable, totals } = await library.getUsage(config);
      const { damage } = await library.verify(config);
      return {
        listed: (await library.listSessions(config)).data.map(({ id }) => id),
        matches: (await library.searchSessions("hello", config)).data.map(({ sessionId }) => sessionId),
        get: await attempt(library.getSession("${sessionId(2)}", config)),
        calls: totals.calls, unreadable: unreadable.map(({ path }) => path), damage,
      };`,
    );
    expect(found).toEqual({
      listed: [sessionId(3), sessionId(1)],
      matches: [sessionId(3), sessionId(1)],
      get: "SessionNotFoundError",
      calls: 2,
      unreadable: [path],
      damage: [{ path, line: 1, kind: "unreadable", message: "EACCES" }],
    });
  });

  test("a project folder without read permission is reported, and all other projects are read", () => {
    const data = library();
    chmodSync(data.path("projects/-work-app"), 0);
    const found = asNobody(
      data,
      `return {
        listed: (await library.listSessions(config)).data.map(({ id }) => id),
        skipped: (await library.verify(config)).skipped,
      };`,
    );
    chmodSync(data.path("projects/-work-app"), 0o755);
    const skipped = [{ path: data.path("projects/-work-app"), reason: "unreadable" }];
    expect(found).toEqual({ listed: [sessionId(3)], skipped });
  });

  test.each(["projects", "."])(
    "a data directory without read permission (%s) is an error, not an empty list",
    (folder) => {
      const data = library();
      chmodSync(data.path(folder), 0);
      const calls = ["listSessions(config)", "getUsage(config)", "searchSessions('x', config)", "verify(config)"];
      const attempts = calls.map((call) => `await attempt(library.${call})`);
      const found = asNobody(data, `return [${attempts.join()}];`);
      chmodSync(data.path(folder), 0o755);
      expect(found).toEqual(calls.map(() => "EACCES"));
    },
  );

  test("if the index folder has no write permission, lists and usage work without an index", () => {
    const data = library();
    mkdirSync(data.cacheFolder, { mode: 0o500 });
    const body = `return [(await library.listSessions(config)).data.length, (await library.getUsage(config)).totals.calls];`;
    expect(asNobody(data, body, data.cacheFolder)).toEqual([3, 3]);
  });
});
