/**
 * Tests files and records that no agent writes on purpose: pipes, devices, bytes that are not text, and unfinished
 * records.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentData, temporaryFolder } from "../agent-data.ts";
import { callsIn, readOne, threadOf } from "./one-source.ts";

const rollout = "sessions/2026/08/22/rollout-2026-08-22T10-00-00-0198c0de-0000-7000-8000-0000000000e1.jsonl";
const prompt = (text: string): string =>
  `${JSON.stringify({
    timestamp: "2026-08-22T10:00:00.000Z",
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  })}\n`;

test("a record that is nested too deeply is damage, and all other records are read", () => {
  const deep = `${prompt("deep").trimEnd().slice(0, -1)},"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}\n`;
  const odd = deep.replace("response_item", "odd").replace('"payload":', '"payload_":');
  const read = readOne("codex", { [rollout]: prompt("before") + odd + prompt("after") });
  expect(threadOf(read)).toEqual(["before", "after"]);
  expect(read.damage).toEqual(["skein: line 2: a record that is nested too deeply or is too long"]);
});

test("a line with several records, with invalid UTF-8 or with NUL bytes is read and reported as damage", () => {
  const bytes = Buffer.concat([
    Buffer.from(prompt("one").trimEnd() + prompt("two")),
    Buffer.from(prompt("th*ee")).map((byte) => (byte === 0x2a ? 0xff : byte)),
    Buffer.alloc(10),
    Buffer.from(prompt("four")),
    Buffer.alloc(1000),
  ]);
  const read = readOne("codex", { [rollout]: bytes });
  expect(threadOf(read)).toEqual(["one", "two", "th\u{FFFD}ee", "four"]);
  expect(read.damage).toEqual([
    "skein: line 1: 2 whole records in a line that is not a record",
    "skein: line 2: bytes that are not UTF-8 were replaced",
    "skein: line 3: 10 NUL bytes",
    "skein: line 4: 1000 NUL bytes",
  ]);
});

test("two token counts in one line are two model calls", () => {
  const count = (total: number): string =>
    JSON.stringify({
      timestamp: "2026-08-22T10:00:00.000Z",
      type: "event_msg",
      payload: {
        type: "token_count",
        info: { total_token_usage: { output_tokens: total }, last_token_usage: { output_tokens: 5 } },
      },
    });
  const read = readOne("codex", { [rollout]: `${prompt("q")}${count(5)}${count(10)}\n` });
  expect(callsIn("codex", [read]).map(({ output }) => output)).toEqual([5, 5]);
});

test("the folder of an Amp thread is read from its URI, even on Windows or with a stray percent sign", () => {
  const threadIn = (uri: string) =>
    readOne("amp", {
      "threads/T-e0000000-0000-4000-8000-000000000001.json": {
        env: { initial: { trees: [{ uri }] } },
        messages: [{ role: "user", messageId: 0, content: [{ type: "text", text: "q" }] }],
      },
    }).lines[0]?.["cwd"];
  expect(threadIn("file:///srv/a%20b")).toBe("/srv/a b");
  expect(threadIn("file:///C%3A/work/demo")).toBe("C:\\work\\demo");
  expect(threadIn("file:///srv/100%")).toBe("/srv/100%");
});

test.skipIf(process.platform === "win32")("pipes and devices in the place of files are skipped", () => {
  const home = temporaryFolder();
  const [gemini, kimi, codex] = [agentData("gemini"), agentData("kimi"), agentData("codex")];
  const opencode = agentData("opencode");
  const pipes = [
    join(gemini.folder, "projects.json"),
    join(gemini.folder, "tmp", "demo", ".project_root"),
    join(opencode.folder, "opencode-pipe.db"),
    join(opencode.folder, "storage", "message", "ses_old", "msg_pipe.json"),
    join(codex.folder, "session_index.jsonl"),
    join(codex.folder, "state_5.sqlite"),
  ];
  for (const path of pipes) rmSync(path, { force: true });
  execFileSync("mkfifo", pipes);
  rmSync(join(kimi.folder, "kimi-cli", "kimi.json"));
  symlinkSync("/dev/zero", join(kimi.folder, "kimi-cli", "kimi.json"));
  const roots = [gemini, kimi, codex, opencode].flatMap((data) => data.roots);
  const script = `
    import { listSessions, withSources } from ${JSON.stringify(join(import.meta.dirname, "../../../src/index.ts"))};
    const { config, problems } = await withSources({ dataPath: ${JSON.stringify(roots)}, cacheFolder: ${JSON.stringify(home)} });
    const { data } = await listSessions({ ...config, limit: Infinity });
    console.log(JSON.stringify({ sessions: data.length, problems: problems.map(({ path }) => path) }));`;
  // A second process reads the pipe, because reading a pipe without a writer never ends.
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script],
    { encoding: "utf8", timeout: 60_000 },
  );
  const sessions = [gemini, kimi, codex, opencode].flatMap((data) => data.sessions.filter(({ parent }) => !parent));
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    sessions: sessions.length,
    problems: [join(codex.folder, "state_5.sqlite"), join(opencode.folder, "opencode-pipe.db")],
  });
});
