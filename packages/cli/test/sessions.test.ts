import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFullTextMemory } from "@skein/adapters/memories/full-text";
import { Event } from "@skein/protocol";
import { script } from "@skein/simulator";
import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { type Ended, dataFolder, lines, skein, skeinProcess, start } from "./skein.ts";

const nobody = "01890000-0000-7000-8000-0000000000ff";

describe("with a session of two runs", () => {
  let folder = "";
  let id = "";
  const call = (...args: readonly string[]): Promise<Ended> => skein(folder, ...args);
  const json = async (...args: readonly string[]) => lines((await call(...args, "--json")).out);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
    const first = await skein(folder, "run", script([{ text: "First \u001B[2Janswer." }]));
    id = /session ([0-9a-f-]{36})/.exec(first.err)?.[1] ?? "";
    await skein(folder, "run", `Again ${script([{ text: "Second answer." }])}`, "--session", id);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("sessions list shows a session, as a table and as JSON", async () => {
    const { out } = await call("sessions", "list");
    expect(out).toMatch(/^ID +STATUS +RUNS +COST +CREATED +TITLE$/m);
    expect(out).toMatch(new RegExp(`^${id} +completed +2 +\\$0\\.\\d+ +\\d{4}-`, "m"));
    expect(await json("sessions", "list", "--status", "completed")).toMatchObject([{ id }]);
    expect(await json("sessions", "list", "--status", "failed")).toEqual([]);
    expect(await json("sessions", "list", "--tag", "nobody-has-this")).toEqual([]);
    expect(await json("sessions", "list", "--since", "2999-01-01")).toEqual([]);
    expect(await json("sessions", "list", "--since", "7d")).toMatchObject([{ id }]);
    expect(await json("sessions", "list", "--until", "yesterday")).toEqual([]);
  });

  test("sessions show prints the conversation without control characters", async () => {
    const { out } = await call("sessions", "show", id);
    expect(out).toContain("First \\x1b[2Janswer.");
    expect(out).toContain("Second answer.");
    const [shown] = await json("sessions", "show", id);
    expect(shown).toMatchObject({
      id,
      awaits: [],
      transcript: expect.arrayContaining([expect.objectContaining({ role: "user" })]),
    });
    expect((await call("sessions", "show", id, "--events")).out).toMatch(/^1 +\S+ \S+ +session\.created/m);
  });

  test("`runs list` shows the runs of a session, and `runs logs` the actions of a run", async () => {
    const runs = lines((await skeinProcess(folder, "runs", "list", id, "--json")).out);
    expect(runs.map(({ number, outcome }) => [number, outcome])).toEqual([
      [2, "completed"],
      [1, "completed"],
    ]);
    const { out } = await call("runs", "logs", String(runs[0]?.["id"]));
    expect(out).toMatch(/^TIME +STEP +ACTION +TOOK +DATA$/m);
    expect(out).toMatch(/ 0 +run_started /);
    expect(out).toMatch(/ 1 +run_completed /);
    const only = await json("runs", "logs", String(runs[0]?.["id"]), "--action", "run_completed");
    expect(only).toMatchObject([{ session_id: id, action_type: "run_completed", step_number: 1 }]);
  });

  test("sessions export writes every event, to stdout or to a new file that only its owner can read", async () => {
    const { out } = await call("sessions", "export", id);
    const events = lines(out);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    for (const event of events) expect(Event.safeParse(event).error).toBeUndefined();
    const file = join(folder, "out.jsonl");
    expect(await call("sessions", "export", id, "--output", file)).toMatchObject({ code: 0, out: "" });
    expect(lines(readFileSync(file, "utf8"))).toEqual(events);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await call("sessions", "export", id, "--output", file);
    expect(again).toMatchObject({ code: 4, err: `${file} exists already. --force replaces it.\n` });
  });

  test("sessions import accepts the output of sessions export and the server's document, and rejects other content", async () => {
    const exported = (await call("sessions", "export", id)).out;
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const made = [
      (await call("sessions", "import", file("lines.jsonl", exported))).out.trim(),
      (await json("sessions", "import", file("document.json", JSON.stringify({ events: lines(exported) }))))[0]?.["id"],
    ];
    expect(new Set([id, ...made]).size).toBe(3);
    const said = async (session: unknown): Promise<unknown> => {
      const [shown] = await json("sessions", "show", String(session));
      const { transcript } = shown as { transcript: readonly { content: unknown }[] };
      return transcript.map(({ content }) => content);
    };
    for (const session of made) {
      expect(await said(session)).toEqual(await said(id));
      await call("sessions", "delete", String(session), "--yes");
    }
    for (const [content, code] of [
      [exported.split("\n").slice(1).join("\n"), 2],
      ["no JSON", 2],
      ["", 2],
    ] as const)
      expect(await call("sessions", "import", file("bad.jsonl", content))).toMatchObject({ code, out: "" });
    expect(await call("sessions", "import", join(folder, "none"))).toMatchObject({ code: 4, out: "" });
  });

  test("sessions fork creates another session, and sessions delete removes it only with --yes", async () => {
    const { out } = await call("sessions", "fork", id, "--title", "Another \u001Bway");
    const fork = out.trim();
    expect(await json("sessions", "list", "--forks-of", id)).toMatchObject([{ id: fork, title: "Another \u001Bway" }]);
    expect((await call("sessions", "list")).out).toContain("Another \\x1bway");
    expect(await call("sessions", "delete", fork)).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
    const memory = createFullTextMemory({ file: join(folder, "data", "skein.db.memory") });
    const row = { tenant: "default", agentId: "a", kind: "run", text: "Said." } as const;
    await memory.keep([fork, id].map((sessionId) => ({ ...row, sessionId, key: sessionId })));
    expect(await call("sessions", "delete", fork, "--yes")).toMatchObject({ code: 0 });
    expect(await call("sessions", "show", fork)).toMatchObject({ code: 3 });
    const left: string[] = [];
    for await (const { sessionId } of memory.all()) left.push(sessionId);
    expect(left).toEqual([id]);
    await memory.close();
  });

  test("a unique beginning of an id is enough; for an ambiguous beginning, the error lists the matches", async () => {
    const [newest, oldest] = await json("runs", "list", id.slice(0, 13));
    expect(await json("sessions", "show", id.slice(0, 8).toUpperCase())).toMatchObject([{ id }]);
    expect(
      await json("runs", "logs", String(oldest?.["id"]).slice(0, 13), "--session", id.slice(0, 13)),
    ).toContainEqual(expect.objectContaining({ session_id: id, run_id: oldest?.["id"], action_type: "run_completed" }));
    expect(await json("runs", "logs", String(newest?.["id"]).slice(0, 13))).not.toEqual([]);
    const went = await call("run", script([{ text: "Third." }]), "--session", id.slice(0, 13));
    expect(went).toMatchObject({ code: 0, err: expect.stringContaining(id) });
    const fork = (await call("sessions", "fork", id.slice(0, 13), "--title", "The other")).out.trim();
    const several = await call("sessions", "show", id.slice(0, 4));
    expect(several).toMatchObject({ code: 3, out: "" });
    expect(several.err).toContain(`\n  ${id}`);
    expect(several.err).toContain(`\n  ${fork}  The other\n`);
    expect(await call("sessions", "delete", fork, "--yes")).toMatchObject({ code: 0 });
    expect(await call("sessions", "show", "ffffffff")).toMatchObject({
      code: 3,
      err: 'There is no session whose id begins with ffffffff. "skein sessions list" shows the sessions.\n',
    });
  });

  test("sessions cancel of an idle session says that nothing runs", async () => {
    expect(await call("sessions", "cancel", id)).toMatchObject({ code: 1, err: expect.stringMatching(/no run/) });
  });

  test.each([
    ["sessions show without an id", ["sessions", "show"], 2],
    ["sessions show with two sessions", ["sessions", "show", "a", "b"], 2],
    ["sessions show of an unknown session", ["sessions", "show", nobody], 3],
    ["sessions show of a text that is not an id", ["sessions", "show", "../../etc/passwd"], 3],
    ["sessions list with an unknown status", ["sessions", "list", "--status", "odd"], 2],
    ["sessions list with an invalid time", ["sessions", "list", "--since", "tomorrowish"], 2],
    ["sessions list with an invalid number", ["sessions", "list", "--limit", "-1"], 2],
    ["sessions answer of an unknown session", ["sessions", "answer", nobody, "toolu_1", "x"], 3],
    ["sessions frobnicate", ["sessions", "frobnicate"], 2],
    ["runs logs of an unknown run", ["runs", "logs", nobody], 3],
    ["a store in a missing folder", ["sessions", "list", "--store", "sqlite:/dev/null/skein.db"], 3],
    ["a store that cannot be created", ["sessions", "import", "-", "--store", "sqlite:/dev/null/skein.db"], 2],
  ])("%s is rejected with an error message and an exit code", async (_, args, code) => {
    const ended = await call(...args);
    expect(ended).toMatchObject({ code, out: "" });
    expect(ended.err).toMatch(/^[-/A-Zs"].*[.!]$/m);
    expect(ended.err).not.toMatch(/^\s+at /m);
  });

  test.each([
    ["sessions", ["list", "show", "follow", "fork", "cancel", "answer", "export", "import", "delete"]],
    ["runs", ["list", "logs"]],
  ])("skein %s --help lists its commands, and every command has examples", async (group, commands) => {
    const { out } = await call(group, "--help");
    for (const command of commands) expect(out).toMatch(new RegExp(`^ {2}${command} +\\S`, "m"));
    const helps = await Promise.all(commands.map((command) => call(group, command, "--help")));
    for (const help of helps)
      expect(help).toMatchObject({ code: 0, out: expect.stringMatching(/Examples:\n {2}skein /) });
  });
});

test("sessions follow says that nothing runs in a session, and which command shows what happened", async () => {
  const folder = dataFolder();
  await skein(folder, "run", "Hello");
  const follower = start(folder, ["sessions", "follow", "last"]);
  expect(await follower.says("Ctrl-C stops.")).toMatch(
    /Following\. Nothing runs in it now\. "skein sessions show \S+" shows/,
  );
  follower.child.kill("SIGINT");
  expect((await follower.ended).code).toBe(0);
});

test("sessions follow shows a run of another process while it happens, and sessions cancel ends that run", async () => {
  const folder = dataFolder();
  const running = start(folder, [
    "run",
    script([{ text: "Slow words here.", chunk: 5, hang: { afterChunks: 2 } }]),
    "--json",
  ]);
  const id = /"session_id":"([0-9a-f-]{36})"/.exec(await running.says("step.generating"))?.[1] ?? "";
  const follower = start(folder, ["sessions", "follow", id, "--json"]);
  await follower.says("Following.");
  expect(await skein(folder, "sessions", "cancel", id, "--reason", "Enough.")).toMatchObject({ code: 0 });
  await follower.says("session.failed");
  follower.child.kill("SIGINT");
  const followed = await follower.ended;
  expect(followed.code).toBe(0);
  expect(lines(followed.out).map(({ event_type }) => event_type)).toEqual([
    "cancel.requested",
    "step.abandoned",
    "message.created",
    "session.failed",
  ]);
  expect((await running.ended).code).toBe(130);
});
