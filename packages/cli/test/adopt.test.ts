/** Tests of `skein adopt` with a session of Codex. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { agentData } from "../../history/test/sources/agent-data.ts";
import { bin, dataFolder, environmentOf, skein } from "./skein.ts";

const ID = "0198c0de-0000-7000-8000-00000000000a";
const hasScript = existsSync("/usr/bin/script");

const wordsFor = (): readonly string[] => ["adopt", ID, "--root", agentData("codex").roots[0] ?? ""];

test.each([[[]], [["--json"]]])(
  "`skein adopt` with the options %j lists the parts that it does not copy, even if it cannot open the store",
  async (more) => {
    const { code, err } = await skein(dataFolder(), ...wordsFor(), "--store", "sqlite:/dev/null/x.db", ...more);
    expect(code).toBe(2);
    expect(err).toMatch(/^A session of Codex\. Not copied: .*\b1 thinking block\b.*\n/);
  },
);

test("`skein adopt` prints the command that continues the session, and the session's folder", async () => {
  const { code, out, err } = await skein(dataFolder(), ...wordsFor());
  expect([code, out]).toEqual([0, `${ID}\n`]);
  expect(err).toContain(
    `Claude Code continues the session on a server that allows the folder /srv/demo: skein run "Go on." --session ${ID} --server http://127.0.0.1:7433\n`,
  );
  expect(err).toContain(
    'To allow it, put this into skein.config.ts: export default { claude: { roots: ["/srv/demo"] } };\n',
  );
});

test("adopt --dry-run says how much would be copied, and what not", async () => {
  const folder = dataFolder();
  const ofCodex = await skein(folder, ...wordsFor(), "--dry-run");
  expect([ofCodex.code, ofCodex.out]).toEqual([0, expect.stringMatching(/^Would copy \d+ messages: .+\n$/)]);
  expect(ofCodex.err).toContain("A session of Codex. Not copied: ");
  const [root = ""] = agentData("claude-code").roots;
  const ofClaude = await skein(folder, "adopt", "0", "--root", root, "--dry-run");
  expect([ofClaude.code, ofClaude.out]).toEqual([0, expect.stringMatching(/^Would copy \d+ messages: .+\n$/)]);
  expect(ofClaude.err).toContain("A session of Claude Code. A copy leaves out nothing.\n");
  expect(existsSync(join(folder, "data", "skein.db"))).toBe(false);
});

test.skipIf(!hasScript)('on a terminal, adopt asks before a partial copy; the answer "n" copies nothing', async () => {
  const folder = dataFolder();
  const line = [process.execPath, bin, ...wordsFor()].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { env: { ...environmentOf(folder), TERM: "xterm" } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let seen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (!seen.includes("[y/N]") && (seen + text).includes("[y/N]")) child.stdin.write("n\r");
    seen += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  expect([code, seen]).toEqual([130, expect.stringMatching(/Not copied: .*Copy the rest\?.*Nothing was copied\./s)]);
  expect(existsSync(join(folder, "data", "skein.db"))).toBe(false);
});
