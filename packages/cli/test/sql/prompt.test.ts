import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bin, dataFolder, environmentOf } from "../skein.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

/** Types `typed` after the output has `seen`. The replies are made in order. */
type Replies = readonly (readonly [seen: string, typed: string])[];

/** Runs `skein sql` on a terminal, in a home folder with one session. Returns the output. */
async function atPrompt(folder: string, replies: Replies, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const project = join(folder, ".claude", "projects", "p");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl"), '{"type":"user","uuid":"u1"}\n');
  const line = [process.execPath, bin, "sql"].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: {
      ...environmentOf(folder),
      TERM: "xterm",
      NO_COLOR: "1",
      PAGER: "cat",
      ...env,
    },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let seen = "";
  let from = 0;
  const waiting = [...replies];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
    for (let next = waiting[0]; next; next = waiting[0]) {
      const at = seen.indexOf(next[0], from);
      if (at < 0) return;
      from = at + next[0].length;
      waiting.shift();
      child.stdin.write(next[1]);
    }
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  expect(waiting, seen).toEqual([]);
  expect(code, seen).toBe(0);
  return seen;
}

test.skipIf(!hasScript)(
  "the answer to a statement of several lines shows its duration, and typed statements are kept for the next start",
  { timeout: 120_000 },
  async () => {
    const folder = dataFolder();
    const seen = await atPrompt(folder, [
      ["skein> ", "SELECT message_uuid AS id\r"],
      ["...> ", "FROM claude_conversations WHERE ';' <> '';\r"],
      ["u1", ""],
      ["1 row in ", ""],
      ["skein> ", "SELEC 1;\r"],
      ["syntax error", ""],
      ["skein> ", ".mode jsonl\r"],
      ["skein> ", "SELECT 40 + 2 AS answer; SELECT 7 AS more;\r"],
      ['{"answer":42}', ""],
      ['{"more":7}', ""],
      ["skein> ", ".exit\r"],
    ]);
    expect(seen).toMatch(/\d+ ms/);
    const history = join(folder, "data", "sql-history");
    expect(readFileSync(history, "utf8")).toContain("SELECT message_uuid AS id\n");
    expect(statSync(history).mode & 0o777).toBe(0o600);
    // The first arrow-up shows the newest line, `.exit`, and the second one the line before.
    await atPrompt(folder, [
      ["skein> ", "\u001B[A\u001B[A\r"],
      ["42", ""],
      ["skein> ", "\u0004"],
    ]);
  },
);

test.skipIf(!hasScript)(
  "Ctrl-C stops the statement, or clears the typed text, but does not end the program",
  { timeout: 120_000 },
  async () => {
    const seen = await atPrompt(dataFolder(), [
      // If this statement is not stopped, the test times out. The echo of the typed line appears first.
      ["skein> ", "SELECT count(*) FROM range(1000000000) a, range(1000000) b;\r"],
      ["b;", "\u0003"],
      ["Stopped.", ""],
      ["skein> ", "SELECT unfinished\r"],
      ["...> ", "\u0003"],
      ["skein> ", "SELECT 'still' || ' here';\r"],
      ["still here", ""],
      ["skein> ", "\u0004"],
    ]);
    expect(seen).not.toContain("SqlError");
  },
);

test.skipIf(!hasScript)(
  "Tab completes tables and columns, and a long answer goes to the pager",
  { timeout: 120_000 },
  async () => {
    const seen = await atPrompt(
      dataFolder(),
      [
        ["skein> ", "SELECT count(*) FROM claude_conv\t"],
        ["claude_conversations", " WHERE message_u\t"],
        ["message_uuid", " = 'u1';\r"],
        ["1 row in ", ""],
        ["skein> ", "SELECT range FROM range(100);\r"],
        ["paged:99", ""],
        ["skein> ", "\u0004"],
      ],
      { PAGER: "sed s/^/paged:/ | tr -d ' '" },
    );
    expect(seen).toContain("paged:range");
  },
);

test.skipIf(!hasScript)(
  "the printed duration is that of the statement, and Ctrl-D during a statement ends the prompt after the answer",
  { timeout: 120_000 },
  async () => {
    const seen = await atPrompt(dataFolder(), [
      ["skein> ", "SELECT sum(range) AS n FROM range(300000000);\r"],
      ["300000000);", "SELECT 40 + 2 AS answer;\r\u0004"],
      ["1 row in ", ""],
      ["42", ""],
    ]);
    // No machine adds so many numbers within a few milliseconds.
    expect(Number(/1 row in (\d+) ms/.exec(seen)?.[1])).toBeGreaterThan(50);
    expect(seen).not.toContain("ERR_");
  },
);

test.skipIf(!hasScript)("a pager gets all keyboard input", { timeout: 120_000 }, async () => {
  await atPrompt(
    dataFolder(),
    [
      ["skein> ", "SELECT range FROM range(1000);\r"],
      ["which key?", "one two three\r"],
      ["the keys: one two three.", ""],
      ["skein> ", "SELECT 40 + 2 AS answer;\r"],
      ["42", ""],
      ["skein> ", "\u0004"],
    ],
    { PAGER: "cat >/dev/null; echo which key?; read -r keys </dev/tty; echo the keys: $keys." },
  );
});

test.skipIf(!hasScript)("leaving the pager early returns to the prompt", { timeout: 120_000 }, async () => {
  const seen = await atPrompt(
    dataFolder(),
    [
      ["skein> ", "SELECT range AS n FROM range(10000000000);\r"],
      ["paged:3", ""],
      ["skein> ", "SELECT 40 + 2 AS answer;\r"],
      ["42", ""],
      ["skein> ", "\u0004"],
    ],
    { PAGER: "head -n 5 | tr -d ' ' | sed s/^/paged:/" },
  );
  expect(seen).not.toContain("EPIPE");
});
