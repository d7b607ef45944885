import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { lines, start } from "../skein.ts";
import { bin, createWorld, evil, first, second } from "./world.ts";

/** Control characters other than tab and line feed, and characters that hide or reorder text. */
// oxlint-disable-next-line no-control-regex
const raw = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]/;

test.each([
  "list",
  "show",
  "search",
  "usage",
  "statusline",
  "export",
  "files",
  "plans",
  "todos",
  "migrate",
  "undo",
  "archive",
  "restore",
  "watch",
  "verify",
  "check",
])("history %s --help explains the command with examples and exit codes", async (name) => {
  const { code, out } = await createWorld().run(name, "--help");
  expect(code).toBe(0);
  expect(out).toContain(`Usage: skein history ${name}`);
  expect(out).toMatch(/Examples:\n {2}skein history /);
  expect(out).toMatch(/--root FOLDER.+\n[\s\S]+--json/);
  expect((await createWorld().run()).out).toContain(`  ${name} `);
});

test.each([
  ["an unknown command", ["frobnicate"], 2, "no command"],
  ["an unknown option", ["list", "--frob"], 2, "--frob"],
  ["an invalid limit", ["list", "--limit", "-1"], 2, "limit"],
  ["an invalid time", ["list", "--since", "soon"], 2, "soon"],
  ["a pattern that cannot run in linear time", ["search", String.raw`/(a)\1/`], 2, "pattern"],
  ["an empty query", ["search"], 2, "What to search for"],
  ["an unknown session", ["show", "ffff"], 3, "ffff"],
  ["an index beyond the list", ["show", "99"], 3, "99"],
  ["an unknown project", ["list", "--project", "/nowhere"], 3, "/nowhere"],
  ["an unknown plan", ["plans", "zzz"], 3, "zzz"],
  ["an unknown subagent", ["show", "agent-zzz"], 3, "zzz"],
  ["an undo without a migration", ["undo"], 3, "no migration"],
  ["a migration into itself", ["migrate", "--from", "/work/app", "--to", "/work/app/sub", "--yes"], 2, "inside"],
  ["an unknown format", ["export", "0", "--format", "pdf"], 2, "pdf"],
  ["an export without a session", ["export"], 2, "Which session?"],
  ["a preview without a session", ["export", "--redact", "--preview"], 2, "Which session?"],
  ["a preview of all and of one session", ["export", "0", "--all", "--redact", "--preview"], 2, "leave out the ids"],
  ["a restore of a session that is not archived", ["restore", "11111111"], 3, "11111111"],
])("%s is rejected with an error message and an exit code", async (_, args, code, text) => {
  const result = await createWorld().run(...args);
  expect({ code: result.code, out: result.out }).toEqual({ code, out: "" });
  expect(result.err).toContain(text);
  expect(result.err.trim().split("\n")).toHaveLength(1);
});

test("a missing data directory gives exit code 3, with or without --json", async () => {
  const world = createWorld();
  rmSync(world.root, { recursive: true });
  expect((await world.run("list")).code).toBe(3);
  const { code, err } = await world.run("usage", "--json");
  expect({ code, error: JSON.parse(err) as unknown }).toMatchObject({
    code: 3,
    error: { error: { code: "NOT_FOUND" } },
  });
});

test("history list shows the newest session first, filters and pages sessions, and prints a PaginatedResult with --json", async () => {
  const world = createWorld();
  const { out } = await world.run("list");
  expect(out.indexOf(first.slice(0, 8))).toBeLessThan(out.indexOf(second.slice(0, 8)));
  const json = JSON.parse((await world.run("list", "--json", "--limit", "1")).out) as {
    data: { id: string }[];
    pagination: unknown;
  };
  expect(json).toMatchObject({
    data: [{ id: first, projectPath: "/work/app", messageCount: 7 }],
    pagination: { total: 2, limit: 1, offset: 0, hasMore: true },
  });
  expect((await world.run("list", "--limit", "0")).out).toBe("2 sessions; this page shows none of them.\n");
  expect((await world.run("list", "--project", "/work/other/")).out).toContain("an older session");
  expect((await world.run("list", "--until", "2026-10-15")).out).not.toContain(first.slice(0, 8));
});

test("a filtered list has the indexes of its sessions, and ends with a command that shows its first session", async () => {
  const world = createWorld();
  const filter = ["--project", "/work/other", "--since", "2026-09-30", "--until", "2026-10-15"];
  const { out } = await world.run("list", ...filter);
  expect(out).toMatch(/^# +ID +.+\n0 +22222222 +.+an older session\n/);
  const hint = /^skein history (show 0 .+) reads the first of these$/m.exec(out)?.[1] ?? "";
  expect(hint).toContain(`--root ${world.root} --project /work/other --since 2026-`);
  const words = hint.split(" ").filter((word, at, all) => word !== "--root" && all[at - 1] !== "--root");
  expect((await world.run(...words)).out).toContain(second);
});

test("a list with --source ends with a command that shows its first session", async () => {
  const world = createWorld();
  const codex = join(world.folder, "codex of mine");
  const id = "0198c0de-0000-7000-8000-0000000000e1";
  mkdirSync(join(codex, "sessions/2026/08/22"), { recursive: true });
  writeFileSync(
    join(codex, "sessions/2026/08/22", `rollout-2026-08-22T10-00-00-${id}.jsonl`),
    `${JSON.stringify({
      timestamp: "2026-08-22T10:00:00.000Z",
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text: "ask Codex" }] },
    })}\n`,
  );
  const { out } = await world.run("list", "--root", codex, "--source", "codex");
  expect(out).toMatch(/0 +0198c0de.+ask Codex\n/);
  const hint = /^skein history show 0 --root (\S+) --root '(.+)' --source codex reads the first of these$/m.exec(out);
  expect(hint?.slice(1)).toEqual([world.root, codex]);
  expect((await world.run("show", "0", "--root", codex, "--source", "codex")).out).toContain(id);
  expect((await world.run("show", "0", "--root", codex)).out).toContain(first);
});

test("if two agents have a session with the same id, a note says which one is shown and how to show the other", async () => {
  const world = createWorld();
  const codex = join(world.folder, "codex");
  mkdirSync(join(codex, "sessions/2026/08/22"), { recursive: true });
  writeFileSync(
    join(codex, "sessions/2026/08/22", `rollout-2026-08-22T10-00-00-${first}.jsonl`),
    `${JSON.stringify({
      timestamp: "2026-08-22T10:00:00.000Z",
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text: "ask Codex" }] },
    })}\n`,
  );
  const note = `2 agents have a session with this id. This is the session of Claude Code, which was active last. For another: --source codex\n`;
  for (const command of ["show", "export"]) {
    const newest = await world.run(command, first.slice(0, 8), "--root", codex);
    expect([command, newest.err]).toEqual([command, note]);
    expect(newest.out).not.toContain("ask Codex");
    const chosen = await world.run(command, first, "--root", codex, "--source", "codex");
    expect([command, chosen.err]).toEqual([command, ""]);
    expect(chosen.out).toContain("ask Codex");
  }
  expect((await world.run("show", first)).err).toBe("");
});

test("the error for an ambiguous id lists at most five sessions with their titles", async () => {
  const world = createWorld();
  for (const n of [1, 2, 3, 4, 5, 6])
    world.write(
      `projects/-work-app/3333333${n}-cccc-4ccc-8ccc-cccccccccccc.jsonl`,
      `${JSON.stringify({ type: "user", uuid: `m${n}`, timestamp: `2026-11-0${n}T10:00:00.000Z`, message: { role: "user", content: `Task ${n}` } })}\n`,
    );
  const { code, err } = await world.run("show", "3333333");
  expect(code).toBe(3);
  expect(err.trimEnd().split("\n")).toEqual([
    "6 sessions begin with this id: 3333333",
    ...[6, 5, 4, 3, 2].map((n) => `  3333333${n}-cccc-4ccc-8ccc-cccccccccccc  Task ${n}`),
    "  and 1 more",
  ]);
});

test("history show finds a session by the short id that a search prints", async () => {
  const world = createWorld();
  for (const id of ["33333333-cccc-4ccc-8ccc-ccccccccccca", "33333333-cccc-4ccc-8ccc-cccccccccccb"])
    world.write(
      `projects/-work-app/${id}.jsonl`,
      `${JSON.stringify({ type: "user", uuid: id, timestamp: "2026-11-02T10:00:00.000Z", message: { role: "user", content: `porcupine ${id}` } })}\n`,
    );
  const { out } = await world.run("search", "porcupine");
  const ids = [...out.matchAll(/ {2}(33333333\S*) · /g)].map(([, id]) => id ?? "");
  expect(ids).toHaveLength(2);
  for (const id of ids) expect((await world.run("show", id)).code).toBe(0);
});

test('history search shows a title as "title of the session", without a time', async () => {
  const { out } = await createWorld().run("search", "cleared");
  expect(out).toMatch(/\n {2}title of the session · line 9\n/);
  expect(out).toMatch(/ · said · line 2\n/);
  expect(out).not.toMatch(/customTitle|noted/);
});

test("history search shows the matches of one session together, in the order of the best matches", async () => {
  const world = createWorld();
  const line = (second: number, role: string, text: string): string =>
    `${JSON.stringify({
      type: role,
      uuid: `w${second}`,
      timestamp: `2026-10-02T10:00:0${second}.000Z`,
      message: { role, content: [{ type: "text", text }] },
    })}\n`;
  const write = (digit: string, text: string): string =>
    world.write(`projects/-work-${digit}/${digit.repeat(8)}-cccc-4ccc-8ccc-cccccccccccc.jsonl`, text);
  write("3", line(1, "user", "a wombat") + line(2, "assistant", "the wombat"));
  write("4", line(3, "user", "another wombat"));
  const { out } = await world.run("search", "wombat");
  expect([...out.matchAll(/ {2}(3{8}|4{8}) · |▸ (.+)/g)].map(([, id, text]) => id ?? text)).toEqual([
    "44444444",
    "another wombat",
    "33333333",
    "a wombat",
    "the wombat",
  ]);
  const title = `${JSON.stringify({ type: "custom-title", customTitle: "Wombat" })}\n`;
  write("4", line(3, "user", "another wombat") + title);
  expect([...(await world.run("search", "wombat")).out.matchAll(/ {2}4{8} · /g)]).toHaveLength(1);
});

test("history show prints the title once, and no time for a line without a time", async () => {
  const world = createWorld();
  const prompt = { type: "user", uuid: "p1", message: { role: "user", content: "which day is it?" } };
  const title = { type: "summary", summary: "A wombat", leafUuid: "p1" };
  const other = { type: "summary", summary: "Another title", leafUuid: "p0" };
  const lines = [other, title, prompt].map((line) => `${JSON.stringify(line)}\n`).join("");
  world.write("projects/-work-3/33333333-cccc-4ccc-8ccc-cccccccccccc.jsonl", lines);
  const { out } = await world.run("show", "33333333");
  expect(out.match(/A wombat/g)).toHaveLength(1);
  expect(out).toMatch(/^A wombat\n[^]+ {2}Title: Another title\n[^]*❯ You\n {2}which day/);
  expect((await world.run("show", "33333333", "--all")).out).toContain("  Title: A wombat\n");
});

test("a search without a result ends with exit code 0, and a phrase without a closing quote with 2", async () => {
  const world = createWorld();
  expect(await world.run("search", "nothing like this")).toMatchObject({ code: 0, out: "Nothing found.\n" });
  const { code, err } = await world.run("search", 'parser "flaky test');
  expect([code, err]).toEqual([2, expect.stringMatching(/^The phrase "flaky test has no closing quote\. /)]);
  expect((await world.run("search", '/"/')).code).toBe(0);
});

test("no control characters of a transcript reach the output", async () => {
  const world = createWorld();
  for (const args of [
    ["list"],
    ["show", "0"],
    ["show", "0", "--all", "--full"],
    ["search", "parser"],
    ["search", "FAIL"],
    ["show", "0", "--json"],
    ["list", "--json"],
    ["search", "parser", "--json"],
    ["verify"],
    ["check"],
  ]) {
    const { out, err } = await world.run(...args);
    expect([args, raw.exec(out)?.[0], raw.exec(err)?.[0]]).toEqual([args, undefined, undefined]);
  }
  expect((await world.run("show", "0", "--full")).out).toContain(
    String.raw`\x1b]52;c;ZXZpbA==\x07\x1b[2Jcleared \x9b31mred\x0dover \u202eturned\u200b`,
  );
  const session = JSON.parse((await world.run("show", "0", "--json")).out) as { summary: string };
  expect(session.summary).toBe(`Parser ${evil}`);
});

test("history show prints the active thread, each tool call on one line and its result below; --all adds the rewound messages", async () => {
  const world = createWorld();
  const { code, out } = await world.run("show", first.slice(0, 8));
  expect(code).toBe(0);
  expect(out).toMatch(/❯ You.+\n {2}please fix the flaky parser test/);
  expect(out).toMatch(/⏺ Bash npm test -- parser\n {4}⎿ FAIL parser … 3 lines/);
  expect(out).not.toContain("this way was left");
  expect(out).toContain("1 rewind: --all shows");
  expect((await world.run("show", "0", "--all")).out).toMatch(/You \(rewound\)[\s\S]+this way was left/);
  expect((await world.run("show", "0", "--full")).out).toContain("line three");
});

test.each([
  [
    "with a summary hides the messages before the compaction, and says how many there are and how to see them",
    "All was done.",
    false,
  ],
  ["without a summary hides nothing", null, true],
])("history show of a compaction %s", async (_, summary, isShown) => {
  const { run, write } = createWorld();
  const line = (uuid: string, parentUuid: string | null, body: object): string =>
    `${JSON.stringify({ uuid, parentUuid, isSidechain: false, timestamp: "2026-11-02T10:00:00.000Z", ...body })}\n`;
  const user = (content: string, more = {}) => ({ type: "user", message: { role: "user", content }, ...more });
  write(
    "projects/-work-app/33333333-cccc-4ccc-8ccc-cccccccccccc.jsonl",
    line("p1", null, user("before")) +
      line("b1", "p1", { type: "system", subtype: "compact_boundary", content: "Conversation compacted" }) +
      (summary === null ? "" : line("s1", "b1", user(summary, { isCompactSummary: true }))) +
      line("p2", summary === null ? "b1" : "s1", user("after")),
  );
  const { out } = await run("show", "33333333");
  expect(out).toContain("══ compacted ══\n");
  expect(out).toContain("  after\n");
  expect(out.includes("  before\n")).toBe(isShown);
  expect(out.includes("1 earlier message is hidden: --all shows them.")).toBe(!isShown);
  expect((await run("show", "33333333", "--all")).out).toContain("  before\n");
});

test("history show --output and export write private files, replace no file, and write nothing into the data directory", async () => {
  const world = createWorld();
  const page = join(world.folder, "page.html");
  expect((await world.run("show", "0", "--output", page)).code).toBe(0);
  expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/);
  expect(statSync(page).mode & 0o777).toBe(0o600);
  expect(await world.run("show", "0", "--output", page)).toMatchObject({
    code: 4,
    err: expect.stringContaining("--force") as string,
  });
  expect((await world.run("show", "0", "--output", page, "--force")).code).toBe(0);
  expect((await world.run("export", "0", "-o", join(world.root, "x.md"))).code).toBe(2);
  const written = join(world.folder, "x.md");
  expect(await world.run("export", "0", "-o", written)).toMatchObject({
    code: 0,
    out: "",
    err: expect.stringMatching(/^Wrote \/.*x\.md \(.+B\)\n$/),
  });
  expect((await world.run("export", "--all", "-o", join(world.root, "projects", "..", "new"))).code).toBe(2);
  expect((await world.run("export", "--all", "--format", "json", "-o", join(world.folder, "all"))).code).toBe(0);
  expect(readdirSync(join(world.folder, "all")).sort()).toEqual([`${first}.json`, `${second}.json`]);
  expect(readdirSync(world.folder).filter((name) => name.startsWith(".skein"))).toEqual([]);
});

test("history export --redact removes secrets and home directories in every format", async () => {
  const world = createWorld();
  for (const format of ["json", "markdown", "html"]) {
    expect((await world.run("export", "0", "--format", format)).out).toContain("sk-ant-REDACTME");
    const { out } = await world.run("export", "0", "--format", format, "--redact");
    expect(out).not.toMatch(/sk-ant-REDACTME|somebody/);
    expect(out).toMatch(/\[token \d+\]/);
  }
});

test("history export --redact --preview lists what would be removed, of one session or of all", async () => {
  const world = createWorld();
  for (const which of ["0", "--all"])
    expect((await world.run("export", which, "--redact", "--preview")).out).toMatch(/^token +\d+ +sk-ant… /m);
});

test("history search accepts words, phrases, patterns and filters, and marks the matches", async () => {
  const world = createWorld();
  const found = async (...args: readonly string[]): Promise<number> =>
    (JSON.parse((await world.run("search", ...args, "--json")).out) as { pagination: { total: number } }).pagination
      .total;
  expect(await found("parser")).toBe(4);
  expect(await found("flaky", "parser")).toBe(1);
  expect(await found('"parser flaky"')).toBe(0);
  expect(await found("fix", "flaky parser")).toBe(1);
  expect(await found("/pars(er|ing) test/")).toBe(1);
  expect(await found("parser", "--role", "human")).toBe(1);
  expect(await found("parser", "--tool", "bash")).toBe(1);
  expect(await found("session", "--project", "/work/other")).toBe(1);
  expect(await found("parser", "--until", "2026-10-31")).toBe(0);
  expect(await found("parser", "--session", "22222222")).toBe(0);
  const { out } = await world.run("search", "FAIL");
  expect(out).toMatch(/▸ FAIL parser\n.+\n {4}line three/);
});

test("history usage counts each model call once, with the same numbers by day, model, project and session", async () => {
  const world = createWorld();
  const report = JSON.parse((await world.run("usage", "--json", "--timezone", "UTC")).out) as Record<
    string,
    Record<string, number>[]
  > & { totals: Record<string, number> };
  expect(report.totals).toMatchObject({
    inputTokens: 300,
    outputTokens: 150,
    cacheCreationInputTokens: 30,
    cacheReadInputTokens: 3000,
    calls: 3,
  });
  expect(report.totals["costUsd"]).toBeCloseTo(0.0041625, 9);
  for (const view of ["byDay", "byModel", "byProject", "bySession"])
    expect(report[view]?.[0]).toMatchObject({ inputTokens: 300, outputTokens: 150 });
  const { out } = await world.run("usage", "--by", "session", "--by", "project");
  expect(out).toMatch(/SESSION +INPUT[\s\S]+11111111 \S+ \S+ +\/work\/\S+ +300[\s\S]+Total +300 +150 +30 +3,000/);
});

test("history usage --breakdown shows the models of each day, and --by block shows a burn rate", async () => {
  const world = createWorld();
  const { out } = await world.run("usage", "--timezone", "UTC", "--by", "day", "--by", "block", "--breakdown");
  expect(out).toMatch(/2026-11-01 +300 +150[\s\S]+ {2}sonnet-4-5-20250929 +300/);
  expect(out).toMatch(/\(\$0\.\d\d\/h\)[\s\S]+No block is active\.\nBlocks are an estimate of/);
});

test("history usage says over what time the burn rate was measured, and what the projection assumes", async () => {
  const world = createWorld();
  // Two calls with a minute between them, in the block that began within the last hour.
  const now = Date.now() - 1000;
  const call = (id: string, time: number): string =>
    `${JSON.stringify({
      type: "assistant",
      uuid: id,
      timestamp: new Date(time).toISOString(),
      message: { id, role: "assistant", model: "claude-sonnet-4-5", content: [], usage: { output_tokens: 1000 } },
    })}\n`;
  world.write(
    "projects/-work-now/44444444-dddd-4ddd-8ddd-dddddddddddd.jsonl",
    call("n1", now - 60_000) + call("n2", now),
  );
  const { out } = await world.run("usage", "--by", "block");
  expect(out).toMatch(/^Burn rate: +2,000 tokens\/min, \$1\.80\/h, in the 1 min 0 s from its first to its last call$/m);
  expect(out).toMatch(/^Projection: +[\d,]+ tokens, \$\d+\.\d\d at its end, if this rate continues until then$/m);
});

test("history usage shows a cost below half a cent as <0.01, and only no cost as 0.00", async () => {
  const world = createWorld();
  const { out } = await world.run("usage", "--by", "project");
  expect(out).toMatch(/^\/work\/app .+ <0\.01$/m);
  expect((await world.run("usage", "--by", "project", "--until", "2026-10-15")).out).toMatch(/^Total .+ 0\.00$/m);
});

test("history statusline prints one line with model, costs and context, from Claude Code's input", () => {
  const world = createWorld();
  const transcript = join(world.root, "projects/-work-app", `${first}.jsonl`);
  const status = { session_id: first, transcript_path: transcript, cwd: "/work/app", model: { display_name: "Opus" } };
  const run = (input: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, [bin, "history", "statusline", "--root", world.root, ...args], {
      encoding: "utf8",
      env: { ...process.env, ...world.env },
      input,
    });
  expect(run(JSON.stringify(status)).stdout).toMatch(
    /^Opus in app \| \$0\.00 session, \$0\.00 today \| [\d,]+ tokens \(\d+ %\)\n$/,
  );
  // This session gets a million input tokens now, and another session two million.
  const timestamp = new Date().toISOString();
  for (const [id, path, input_tokens] of [
    ["now", transcript, 1_000_000],
    ["other", join(world.root, "projects/-work-other", `${second}.jsonl`), 2_000_000],
  ] as const) {
    const message = { id, role: "assistant", model: "claude-opus-4-5", usage: { input_tokens, output_tokens: 0 } };
    appendFileSync(path, `${JSON.stringify({ type: "assistant", uuid: id, timestamp, message })}\n`);
  }
  const { stdout } = run(JSON.stringify(status));
  const isSameDay = new Date().toDateString() === new Date(timestamp).toDateString();
  expect(stdout).toContain(isSameDay ? "| $5.00 session, $15.00 today |" : "| $5.00 session, $0.00 today |");
  expect(stdout).toContain("| 1,000,000 tokens (");
  expect(run("nonsense")).toMatchObject({ status: 2, stdout: "" });
});

test("history usage --limit shows the newest days, or the most expensive models, projects or sessions", async () => {
  const world = createWorld();
  for (const [at, day] of ["2026-09-07", "2026-09-13", "2026-10-05"].entries()) {
    const usage = { input_tokens: 1_000_000 * (at + 1), output_tokens: 0 };
    const message = { id: `d${at}`, role: "assistant", model: "claude-opus-4-5", usage, content: [] };
    const line = { type: "assistant", uuid: `d${at}`, cwd: `/work/${at}`, timestamp: `${day}T10:00:00.000Z`, message };
    world.write(`projects/-work-${at}/0000000${at}-aaaa-4aaa-8aaa-aaaaaaaaaaaa.jsonl`, `${JSON.stringify(line)}\n`);
  }
  const shown = async (view: string, ...page: readonly string[]): Promise<readonly string[]> => {
    const { code, out } = await world.run("usage", "--timezone", "UTC", "--by", view, ...page);
    expect(code).toBe(0);
    const lines = out.split("\n");
    return lines
      .slice(
        1,
        lines.findIndex((line) => line.startsWith("Total")),
      )
      .map((line) => line.split("  ")[0] ?? "");
  };
  expect(await shown("month")).toEqual(["2026-09", "2026-10", "2026-11"]);
  expect(await shown("week")).toEqual(["2026-09-07", "2026-10-05", "2026-10-26"]);
  expect(await shown("day", "--limit", "2")).toEqual(["2026-10-05", "2026-11-01"]);
  expect(await shown("day", "--limit", "2", "--offset", "1")).toEqual(["2026-09-13", "2026-10-05"]);
  expect(await shown("model", "--limit", "1")).toEqual(["opus-4-5"]);
  expect(await shown("project", "--limit", "1")).toEqual(["/work/2"]);
  expect(await shown("session", "--limit", "2", "--offset", "1")).toEqual([
    expect.stringContaining("00000002 2026-10-05"),
    expect.stringContaining("00000001 2026-09-13"),
  ]);
  expect(await shown("session", "--limit", "0")).toEqual([]);
});

test("history files lists the copies of a session's files, prints one copy, and compares two", async () => {
  const world = createWorld();
  expect((await world.run("files", first)).out).toMatch(/2 .+\/work\/app\/a\.ts/);
  expect((await world.run("files", first, "a.ts")).out).toMatch(/1 .+u1\n[\s\S]*2 .+u3/);
  expect((await world.run("files", first, "a.ts", "--version", "1")).out).toBe("one\ntwo\n");
  expect((await world.run("files", first, "a.ts", "--at", "u3")).out).toBe("one\n2\n");
  expect((await world.run("files", first, "a.ts", "--diff", "1..2")).out).toMatch(/ one\n-two\n\+2\n/);
  expect((await world.run("files", first, "b.ts")).code).toBe(3);
});

test("`history plans` and `history todos` show which items are done", async () => {
  const world = createWorld();
  expect((await world.run("plans")).out).toMatch(/1\/2 +make-it-fast +Make it fast/);
  expect((await world.run("plans", "make")).out).toContain("- [ ] cut");
  const { out } = await world.run("todos");
  expect(out).toMatch(/◐ 1\. write the test[\s\S]+☑ old todo/);
  expect((await world.run("todos", "--open")).out).not.toContain("old todo");
});

test("`history verify` and `history check` end with exit code 1 if something is damaged or unknown", async () => {
  const world = createWorld();
  expect((await world.run("verify")).code).toBe(0);
  expect((await world.run("check")).code).toBe(0);
  appendFileSync(
    join(world.root, "projects/-work-app", `${first}.jsonl`),
    '{"type":"from-the-future","x":1}\n{"torn": \n',
  );
  const verified = await world.run("verify");
  expect(verified).toMatchObject({ code: 1, out: expect.stringMatching(/:13: not-json/) as string });
  const checked = await world.run("check");
  expect(checked).toMatchObject({
    code: 1,
    out: expect.stringMatching(/from-the-future +1 +unknown: type, x/) as string,
  });
  expect((await world.run("show", "0")).code).toBe(1);
});

test("`history verify` reports a file of another agent among Claude Code's sessions as damage", async () => {
  const world = createWorld();
  const id = "33333333-cccc-4ccc-8ccc-cccccccccccc";
  world.write(
    `projects/-work-app/${id}.jsonl`,
    `${JSON.stringify({ timestamp: "2026-11-02T10:00:00.000Z", type: "session_meta", payload: { id, cwd: "/work/app" } })}\n`,
  );
  const message =
    "unknown-format no record of Claude Code in the file: is it of another agent, or of a newer version?\n";
  expect(await world.run("verify")).toMatchObject({
    code: 1,
    out: expect.stringContaining(`${id}.jsonl:1: ${message}`),
  });
  expect((await world.run("show", id)).out).toContain(
    "Damaged line 1: unknown-format, no record of Claude Code in the file",
  );
});

test("`history verify` and `history check` read only the sessions that --project, --since and --until select", async () => {
  const world = createWorld();
  appendFileSync(join(world.root, "projects/-work-app", `${first}.jsonl`), '{"type":"from-the-future"}\n{"torn": \n');
  for (const command of ["verify", "check"]) {
    const code = async (...filter: readonly string[]): Promise<number> => (await world.run(command, ...filter)).code;
    expect(await code(), command).toBe(1);
    expect(await code("--project", "/work/app"), command).toBe(1);
    expect(await code("--project", "/work/other"), command).toBe(0);
    expect(await code("--since", "2026-10-15"), command).toBe(1);
    expect(await code("--until", "2026-10-15"), command).toBe(0);
  }
});

test.each([
  ["--project", "/work/other"],
  ["--until", "2026-10-15"],
])("history archive %s %s archives only the selected sessions", async (...filter) => {
  const world = createWorld();
  expect((await world.run("archive", ...filter)).out).toContain("1 file:");
  rmSync(join(world.root, "projects"), { recursive: true });
  expect((await world.run("show", second)).out).toContain("an older session");
  expect((await world.run("show", first)).code).toBe(3);
});

test.each([
  ["list"],
  ["show", "0"],
  ["show", "0", "--all"],
  ["search", "parser"],
  ["usage", "--by", "day", "--by", "model", "--by", "session", "--by", "block", "--breakdown"],
  ["files", first],
  ["files", first, "a.ts"],
  ["plans"],
  ["todos"],
  ["undo", "--list"],
  ["check"],
  ["verify"],
])("on a terminal of 80 columns, no line of history %s %s has more than 80", async (...args) => {
  const world = createWorld();
  await world.run("migrate", "--from", "/work/other", "--to", `/work/${"a-long-name/".repeat(9)}`, "--yes");
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 80 });
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns }));
  const { out } = await world.run(...args, ...(args[0] === "undo" ? [] : ["--no-pager"]));
  const shown = stripVTControlCharacters(out).split("\n");
  expect(shown.length).toBeGreaterThan(1);
  // A path without a space is not broken, so that it can be copied.
  expect(shown.filter((line) => line.length > 80 && / /.test(line.trim()))).toEqual([]);
});

test("an unreadable folder gives exit code 4", ({ skip }) => {
  const world = createWorld();
  chmodSync(join(world.root, "projects"), 0o000);
  chmodSync(world.folder, 0o755);
  // Root can read every folder, so the command runs as another user.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const env = { ...process.env, ...world.env, SKEIN_CACHE_DIR: "", SKEIN_DATA_DIR: world.folder, HOME: world.folder };
  const { status, stderr } = spawnSync(process.execPath, [bin, "history", "list", "--root", world.root], {
    encoding: "utf8",
    env,
    ...user,
  });
  chmodSync(join(world.root, "projects"), 0o700);
  if (status === null || stderr.includes("MODULE_NOT_FOUND")) return skip("other users may not run this program");
  expect({ status, stderr }).toEqual({ status: 4, stderr: expect.stringContaining("no right") as string });
});

test("history migrate shows its plan, and moves sessions only with --yes; history undo moves them back", async () => {
  const world = createWorld();
  const file = join(world.root, "projects/-work-app", `${first}.jsonl`);
  const before = readFileSync(file);
  const asked = await world.run("migrate", "--from", "/work/app", "--to", "/work/new", "--move");
  expect(asked).toMatchObject({
    code: 2,
    out: expect.stringMatching(/Plan: move 1 session to \/work\/new/) as string,
    err: expect.stringContaining("--yes") as string,
  });
  expect(existsSync(file)).toBe(true);
  expect((await world.run("migrate", "--from", "/work/app", "--to", "/work/new", "--move", "--yes")).out).toMatch(
    /Moved 1 session\.[\s\S]+skein history undo/,
  );
  expect(existsSync(file)).toBe(false);
  expect((await world.run("list", "--project", "/work/new")).out).toContain(first.slice(0, 8));
  expect((await world.run("undo", "--yes")).code).toBe(0);
  expect(readFileSync(file)).toEqual(before);
});

test("after `history archive` a deleted session stays readable, and `history restore` restores its file", async () => {
  const world = createWorld();
  const file = join(world.root, "projects/-work-app", `${first}.jsonl`);
  const before = readFileSync(file);
  expect((await world.run("archive")).code).toBe(0);
  rmSync(file);
  expect((await world.run("show", "11111111")).out).toContain("please fix the flaky parser test");
  expect((await world.run("show", "11111111", "--no-archive")).code).toBe(3);
  const listed = (await world.run("list")).out.split("\n");
  expect(listed.find((line) => line.includes("11111111"))).toContain("  (archived) Parser ");
  expect(listed.find((line) => line.includes("22222222"))).not.toContain("(archived)");
  expect((await world.run("show", "11111111")).out).toContain(" · only in the archive\n");
  expect((await world.run("restore", "11111111")).code).toBe(0);
  expect(readFileSync(file)).toEqual(before);
});

test("history watch shows a line after it was written", async () => {
  const world = createWorld();
  const file = join(world.root, "projects/-work-app", `${first}.jsonl`);
  const watching = start(world.folder, ["history", "watch", "--json", "--root", world.root]);
  await watching.says("Watching.");
  // `watch` prints "Watching." before it knows where the file ends, so the first new lines may not be shown.
  const writing = setInterval(
    () => appendFileSync(file, `${JSON.stringify({ type: "user", message: { content: "now" } })}\n`),
    100,
  );
  await watching.says("lines").finally(() => clearInterval(writing));
  watching.child.kill("SIGINT");
  const { code, out } = await watching.ended;
  expect(code).toBe(0);
  const line = expect.objectContaining({ value: { type: "user", message: { content: "now" } } }) as unknown;
  expect(lines(out)).toContainEqual(
    expect.objectContaining({ type: "lines", lines: expect.arrayContaining([line]) as unknown }),
  );
});

test("the sessions of several --root folders are read together", async () => {
  const world = createWorld();
  const other = join(world.folder, "other");
  mkdirSync(join(other, "projects/-x"), { recursive: true });
  const id = first.replace(/^./, "f");
  const text = readFileSync(join(world.root, "projects/-work-app", `${first}.jsonl`), "utf8");
  writeFileSync(join(other, "projects/-x", `${id}.jsonl`), text.replaceAll(first, id));
  const { out } = await world.run("list", "--root", other, "--json");
  expect(JSON.parse(out)).toMatchObject({ pagination: { total: 3 } });
  for (const each of [first, second, id]) expect(out).toContain(each);
});
