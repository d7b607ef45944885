import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createTitles,
  discover,
  encodeProjectPath,
  getSession,
  isDataNotFoundError,
  isWorkspaceNotFoundError,
  listSessions,
  searchSessions,
} from "../src/index.ts";
import { isCurrent } from "../src/sources/claude-code/discover/index.ts";
import { conversation, createDataDirectory, jsonLines, sessionId, type Fields } from "./data-directory.ts";

/** The id of the second line of a conversation that begins at the default time. */
const leaf = "u-2026-11-01T10:00:00.000Z-2";

const hello = (text = "hello", start?: string): readonly Fields[] => {
  const talk = conversation(start);
  return [talk.user(text), talk.answer("hi")];
};

describe("discovery", () => {
  test("discovery finds sessions and subagents in all three folder layouts", async () => {
    const data = createDataDirectory();
    const id = sessionId(1);
    data.session(id, hello());
    const side = conversation("2026-11-01T11:00:00.000Z", { sessionId: id, isSidechain: true });
    data.write(`projects/-work-app/agent-abcd1234.jsonl`, jsonLines([side.user("old")]));
    data.write(`projects/-work-app/${id}/subagents/agent-a0123456789abcdef.jsonl`, jsonLines([side.user("new")]));
    data.write(`projects/-work-app/${id}/subagents/workflows/wf_1/agent-ffff.jsonl`, jsonLines([side.user("flow")]));
    expect(
      discover(data.config)
        .files.map(({ layout }) => layout)
        .sort(),
    ).toEqual(["legacy", "main", "subagents", "workflow"]);
    const { data: sessions } = await listSessions(data.config);
    expect(sessions.length).toBe(1);
    expect(sessions[0]?.agentIds.toSorted()).toEqual(["a0123456789abcdef", "abcd1234", "ffff"]);
  });

  test("discovery skips pipes, links and leftover files, says why, and does not wait for a pipe", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), hello());
    execFileSync("mkfifo", [data.path("projects/-work-app", `${sessionId(2)}.jsonl`)]);
    symlinkSync("/etc/passwd", data.path("projects/-work-app", `${sessionId(3)}.jsonl`));
    data.write(`projects/-work-app/${sessionId(4)}.jsonl.backup`, "x");
    symlinkSync("/etc", data.path("projects/-linked"));
    const { skipped } = discover(data.config);
    expect(skipped.map(({ reason }) => reason).sort()).toEqual(["leftover", "pipe", "symlink", "symlink"]);
    expect((await listSessions(data.config)).pagination.total).toBe(1);
  });

  test("a discovery is current until a file or a folder changes", () => {
    const data = createDataDirectory();
    const id = sessionId(1);
    data.session(id, hello());
    data.session(sessionId(2), hello());
    mkdirSync(data.path("projects/-work-app", id));
    // A result less than two seconds after a change never counts as current, so the test sets its time a minute ahead.
    // The loop waits until the next change gets a later time.
    const elsewhere = createDataDirectory();
    const look = () => {
      const found = { ...discover(data.config), atMs: Date.now() + 60_000 };
      const last = Math.max(...found.folders.map(({ changedMs }) => changedMs));
      while (statSync(elsewhere.write("tick", "")).ctimeMs <= last);
      return found;
    };
    expect(isCurrent(discover(data.config), data.config)).toBe(false);
    const agent = `projects/-work-app/${id}/subagents/agent-a0123456789abcdef.jsonl`;
    const changes: readonly [string, () => void][] = [
      ["an added line", () => appendFileSync(data.path(`projects/-work-app/${id}.jsonl`), "{}\n")],
      ["a new session", () => data.session(sessionId(3), hello())],
      ["a removed session", () => rmSync(data.path(`projects/-work-app/${sessionId(2)}.jsonl`))],
      ["a new project", () => data.write(`projects/-other/${sessionId(4)}.jsonl`, "{}\n")],
      ["a first subagent", () => data.write(agent, "{}\n")],
      ["a second subagent", () => data.write(agent.replace("a01", "b01"), "{}\n")],
      ["a workflow", () => data.write(agent.replace("agent-", "workflows/wf_1/agent-"), "{}\n")],
      ["no projects", () => rmSync(data.path("projects"), { recursive: true })],
      ["projects again", () => data.write(`projects/-other/${sessionId(4)}.jsonl`, "{}\n")],
    ];
    for (const [what, change] of changes) {
      const found = look();
      expect(isCurrent(found, data.config), `before ${what}`).toBe(true);
      change();
      expect(isCurrent(found, data.config), `after ${what}`).toBe(false);
    }
  });

  test("a missing data directory throws DataNotFoundError, and a data directory without projects has no sessions", async () => {
    const data = createDataDirectory();
    const missing = join(data.root, "missing");
    await expect(listSessions({ dataPath: missing, cacheFolder: null })).rejects.toSatisfy(isDataNotFoundError);
    mkdirSync(join(data.root, "fresh"));
    expect((await listSessions({ dataPath: join(data.root, "fresh"), cacheFolder: null })).data).toEqual([]);
  });

  test("several data directories are read together, and a repeated directory is read once", async () => {
    const [one, two] = [createDataDirectory(), createDataDirectory()];
    one.session(sessionId(1), hello("one", "2026-11-01T10:00:00.000Z"));
    two.session(sessionId(2), hello("two", "2026-11-02T10:00:00.000Z"));
    const dataPath = [one.root, two.root, `${one.root}/`];
    const { data } = await listSessions({ dataPath, cacheFolder: null });
    expect(data.map(({ summary }) => summary)).toEqual(["two", "one"]);
  });

  test("a project path is encoded to the folder name that Claude Code uses", () => {
    expect(encodeProjectPath("/Users/a/my_proj.x")).toBe("-Users-a-my-proj-x");
    expect(encodeProjectPath("C:\\git\\cc-plus")).toBe("C--git-cc-plus");
    expect(encodeProjectPath("/a/😀")).toBe("-a---");
    const long = `/${"x".repeat(300)}`;
    expect(encodeProjectPath(long)).toMatch(/^-x{199}-[0-9a-z]+$/);
  });
});

const [ask, reply, more, title] = ((talk = conversation()) => [
  talk.user("what is glued?"),
  talk.answer("this"),
  talk.user("a text that ends like two records: }{"),
  { type: "ai-title", aiTitle: "Glued", sessionId: sessionId(1) },
])().map((line) => JSON.stringify(line)) as [string, string, string, string];

/** Lines of a file after a crash, and the records that Skein finds in them. */
const DAMAGED: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["two records in the first line", [`${ask}${reply}`, more], [ask, reply, more]],
  ["three records in the only line", [`${ask}${reply}${more}`], [ask, reply, more]],
  ["two records in a later line", [ask, `${reply}${more}`, ""], [ask, reply, more]],
  ["a title after an answer, in the same line", [ask, `${reply}${title}`, more, ""], [ask, reply, title, more]],
  [
    "a record after its own beginning, which was cut inside a string",
    [`${ask.slice(0, -20)}${ask}`, reply],
    [ask, reply],
  ],
  ["a record after its own first 200 characters", [ask, `${reply.slice(0, 200)}${reply}`, more], [ask, reply, more]],
  ["a title after the beginning of another record", [ask, `${more.slice(0, -5)}${title}`, reply], [ask, title, reply]],
  [
    "a record after NUL bytes in place of data that was never written",
    [`${"\0".repeat(100)}${ask}`, reply],
    [ask, reply],
  ],
  ["a line that was cut, and the lines after it", [ask, more.slice(0, -9), reply, ""], [ask, reply]],
  ["a text that only looks like two records", [ask, more, reply, ""], [ask, more, reply]],
];

describe("the list", () => {
  test("a list is ordered by newest activity, has pages, and counts all sessions", async () => {
    const data = createDataDirectory();
    for (let i = 1; i <= 7; i += 1) data.session(sessionId(i), hello(`p${i}`, `2026-11-0${i}T10:00:00.000Z`));
    const page = await listSessions({ ...data.config, limit: 3, offset: 2 });
    expect(page.data.map(({ summary }) => summary)).toEqual(["p5", "p4", "p3"]);
    expect(page.pagination).toEqual({ total: 7, limit: 3, offset: 2, hasMore: true });
    expect((await listSessions({ ...data.config, limit: 0 })).data).toEqual([]);
    expect((await listSessions(data.config)).pagination).toEqual({ total: 7, limit: 50, offset: 0, hasMore: false });
    await expect(listSessions({ ...data.config, limit: -1 })).rejects.toThrow(RangeError);
  });

  test("sessions without messages come last in a list, and a session with only a snapshot has the time of the snapshot", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), hello("first", "2026-11-01T10:00:00.000Z"));
    data.write(`projects/-work-app/${sessionId(2)}.jsonl`, "");
    const snapshot = { messageId: "m", timestamp: "2026-11-03T10:00:00.000Z", trackedFileBackups: {} };
    data.session(sessionId(3), [{ type: "file-history-snapshot", messageId: "m", snapshot }]);
    data.session(sessionId(4), hello("second", "2026-11-02T10:00:00.000Z"));
    for (const config of [data.config, data.indexed, data.indexed, { ...data.config, until: new Date("2100-01-01") }]) {
      const { data: sessions } = await listSessions(config);
      expect(sessions.slice(0, 2).map(({ id }) => id)).toEqual([sessionId(4), sessionId(1)]);
      expect(sessions.slice(2).every(({ messageCount }) => messageCount === 0)).toBe(true);
      const dated = sessions.find(({ id }) => id === sessionId(3));
      expect(dated?.lastActivityAt.toISOString()).toBe("2026-11-03T10:00:00.000Z");
    }
    expect((await getSession(0, data.config)).id).toBe(sessionId(4));
  });

  test("a session gets the summary in another file that refers to one of its messages", async () => {
    const data = createDataDirectory();
    data.session(sessionId(2), [{ type: "summary", summary: "Greeting", leafUuid: leaf }, ...hello("later")]);
    // A file is read in pieces from its end, so two pieces may each have a part of the id.
    const rest = [0, 1000, ...Array.from({ length: 30 }, (_, at) => 130_500 + at * 20), 400_000];
    for (const bytes of rest) {
      data.session(sessionId(1), [...hello(), { type: "system", content: "x".repeat(bytes) }]);
      expect((await getSession(sessionId(1), data.config)).summary, `${bytes} bytes after it`).toBe("Greeting");
    }
  });

  test("the title of a session is the summary of its message, even if another session's file contains the summary", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), hello());
    const summaries = [
      { type: "summary", summary: "Of nobody", leafUuid: "unknown" },
      { type: "summary", summary: "Greeting", leafUuid: leaf },
    ];
    data.session(sessionId(2), [...summaries, ...hello("later", "2026-11-02T10:00:00.000Z")]);
    for (const config of [data.config, data.indexed, data.indexed]) {
      const titles = (await listSessions(config)).data.map(({ summary }) => summary);
      expect(titles).toEqual(["later", "Greeting"]);
    }
    expect((await getSession(sessionId(1), data.config)).summary).toBe("Greeting");
    expect((await searchSessions("hello", data.config)).data[0]?.sessionSummary).toBe("Greeting");
  });

  test("a remembered title changes after another file gets a summary, and after the session gets a title", async () => {
    const data = createDataDirectory();
    const config = { ...data.config, titles: createTitles() };
    const shown = async () => (await listSessions(config)).data.map(({ summary }) => summary);
    data.session(sessionId(1), hello());
    expect(await shown()).toEqual(["hello"]);
    const named = { type: "summary", summary: "Greeting", leafUuid: leaf };
    const later = data.session(sessionId(2), [{ ...named, summary: "Of nobody", leafUuid: "unknown" }]);
    await expect.poll(shown).toEqual(["hello", null]);
    // The file has only summaries, so more summaries may follow.
    appendFileSync(later, jsonLines([named]));
    await expect.poll(shown).toEqual(["Greeting", null]);
    data.session(sessionId(1), [...hello(), { type: "custom-title", customTitle: "Its own" }]);
    await expect.poll(shown).toEqual(["Its own", null]);
  });

  test("a list takes the project from the session's lines, not from the folder name, and filters by its path", async () => {
    const data = createDataDirectory();
    const cwd = "/work/my-app_v1.2";
    const talk = conversation(undefined, { cwd });
    data.session(sessionId(1), [talk.user("x")], encodeProjectPath(cwd));
    data.session(sessionId(2), hello(), encodeProjectPath(cwd));
    const { data: found } = await listSessions({ ...data.config, workspace: `${cwd}/` });
    expect(found.map(({ projectPath }) => projectPath)).toEqual([cwd]);
    await expect(listSessions({ ...data.config, workspace: "/work/my/app" })).rejects.toSatisfy(
      isWorkspaceNotFoundError,
    );
  });

  test("a list finds a project by a Windows path with different case and slashes", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation(undefined, { cwd: "C:\\git\\App" }).user("x")], "C--git-App");
    expect((await listSessions({ ...data.config, workspace: "c:/git/app" })).data.length).toBe(1);
  });

  test("a list shows the new project of a relocated session", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [...hello(), { type: "relocated", relocatedCwd: "/new/place" }]);
    expect((await listSessions(data.config)).data[0]).toMatchObject({
      projectPath: "/new/place",
      projectPathSource: "relocated",
    });
  });

  test.each<[string, readonly Fields[], string | null]>([
    [
      "the title that the user set",
      [
        { type: "custom-title", customTitle: "Mine" },
        { type: "ai-title", aiTitle: "Model's" },
      ],
      "Mine",
    ],
    [
      "the last of several titles",
      [
        { type: "ai-title", aiTitle: "First" },
        { type: "ai-title", aiTitle: "Second" },
      ],
      "Second",
    ],
    [
      "the title that the model wrote",
      [
        { type: "last-prompt", lastPrompt: "last" },
        { type: "ai-title", aiTitle: "Model's" },
      ],
      "Model's",
    ],
    ["the last prompt", [{ type: "last-prompt", lastPrompt: "last" }], "last"],
    ["an old summary", [{ type: "summary", summary: "Old", leafUuid: leaf }], "Old"],
    ["an old summary without a message", [{ type: "summary", summary: "Old" }], "Old"],
    [
      "the first prompt, not the summary of another session",
      [{ type: "summary", summary: "Old", leafUuid: "x" }],
      "real question",
    ],
    [
      "the last of its own summaries",
      [leaf, leaf, "x"].map((leafUuid, at) => ({ type: "summary", summary: `Old ${at}`, leafUuid })),
      "Old 1",
    ],
    ["the first prompt", [], "real question"],
  ])("the title of a session in a list is %s", async (_, metadata, expected) => {
    const data = createDataDirectory();
    const talk = conversation();
    const lines = [talk.user("<command-name>/init</command-name>"), talk.user("real question"), talk.answer("ok")];
    data.session(sessionId(1), [...metadata.slice(0, 1), ...lines, ...metadata.slice(1)]);
    expect((await listSessions(data.config)).data[0]?.summary).toBe(expected);
  });

  test("a list shows a summary that is 600 KB after its message in the file", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const summary = { type: "summary", summary: "Late", leafUuid: leaf };
    data.session(sessionId(1), [talk.user("a"), talk.answer("b"), talk.user("x".repeat(600_000)), summary]);
    for (const config of [data.config, data.indexed, data.indexed]) {
      expect((await listSessions(config)).data[0]?.summary).toBe("Late");
    }
  });

  test("a list finds a title that is far from the end of the file or in custom-title.json", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [{ type: "custom-title", customTitle: "Far" }, talk.user("x".repeat(300_000))]);
    expect((await listSessions(data.config)).data[0]?.summary).toBe("Far");
    data.session(sessionId(1), [talk.user("prompt")]);
    data.write(`projects/-work-app/${sessionId(1)}/custom-title.json`, JSON.stringify({ customTitle: "Beside" }));
    expect((await listSessions(data.config)).data[0]?.summary).toBe("Beside");
  });

  test("a list counts an answer of several lines once and does not count side chains", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const message = { id: "msg_same" };
    data.session(sessionId(1), [
      talk.user("q"),
      talk.answer([{ type: "thinking", thinking: "t" }], { message }),
      talk.answer([{ type: "text", text: "a" }], { message }),
      talk.user("side", { isSidechain: true }),
      talk.line("system", { subtype: "informational", content: "x" }),
      { type: "mode", mode: "x" },
    ]);
    const [summary] = (await listSessions(data.config)).data;
    expect(summary?.messageCount).toBe(2);
    expect(summary?.timestamp).toEqual(new Date("2026-11-01T10:00:00.000Z"));
    expect(summary?.lastActivityAt).toEqual(new Date("2026-11-01T10:00:04.000Z"));
    expect(summary?.version).toBe("2.1.300");
    expect(summary?.gitBranch).toBe("main");
  });

  test("a list reads a file with a byte order mark", async () => {
    const data = createDataDirectory();
    data.write(`projects/-work-app/${sessionId(1)}.jsonl`, `\u{FEFF}${jsonLines(hello("the first words"))}`);
    const [summary] = (await listSessions(data.config)).data;
    expect(summary).toMatchObject({ messageCount: 2, summary: "the first words" });
  });

  test.each(DAMAGED)("a list uses the complete records in damaged lines: %s", async (_, damaged, mended) => {
    const [broken, whole] = [createDataDirectory(), createDataDirectory()];
    broken.write(`projects/-work-app/${sessionId(1)}.jsonl`, damaged.join("\n"));
    whole.write(`projects/-work-app/${sessionId(1)}.jsonl`, mended.join("\n"));
    const details = async (config: object): Promise<object> => {
      const { data } = await listSessions(config);
      expect(data).toHaveLength(1);
      const { messageCount, summary, projectPath, timestamp, lastActivityAt, version, gitBranch } = { ...data[0] };
      return { messageCount, summary, projectPath, timestamp, lastActivityAt, version, gitBranch };
    };
    const expected = await details(whole.config);
    expect(await details(broken.config)).toEqual(expected);
    for (let time = 1; time <= 2; time += 1) expect(await details(broken.indexed)).toEqual(expected);
    const { messages } = await getSession(sessionId(1), broken.config);
    expect(messages).toHaveLength((await getSession(sessionId(1), whole.config)).messages.length);
  });

  test("a list is equal with and without an index, even after lines were added", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [talk.user("one"), talk.answer("two")]);
    for (let round = 0; round < 3; round += 1) {
      const plain = await listSessions(data.config);
      expect(await listSessions(data.indexed)).toEqual(plain);
      expect(await listSessions(data.indexed)).toEqual(plain);
      data.append(`projects/-work-app/${sessionId(1)}.jsonl`, jsonLines([talk.user(`more ${round}`)]));
    }
    expect((await listSessions(data.indexed)).data[0]?.messageCount).toBe(5);
  });
});
