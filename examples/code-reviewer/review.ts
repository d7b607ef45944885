/**
 * Claude Code reviews a folder in a sandbox: `node review.ts FOLDER [QUESTION]`. It can read the folder, but nothing
 * else.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createServer } from "skein";

const [folder, question = "Review the code in this folder. Name the three worst problems, each with file and line."] =
  process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error(
    folder === undefined ? "Usage: node review.ts FOLDER [QUESTION]" : `There is no folder ${resolve(folder)}.`,
  );
  process.exit(2);
}
const data = mkdtempSync(join(tmpdir(), "review-"));

const server = await createServer({
  port: 0,
  store: "memory:",
  data,
  // Claude Code sees only this folder, by the name `code`, and can only read it. It can call no host except the
  // model's.
  claude: { folders: { code: { path: resolve(folder), access: "read" } }, hosts: [] },
  // On a machine without a sandbox, Claude Code is not started. The reviewed code may contain instructions, so Claude
  // Code has no shell and no editor.
  policy: { sandbox: "required", tools: ["Read", "Glob", "Grep"] },
});

const response = await fetch(`${server.url}/api/v1/query/single`, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${server.key.key}` },
  body: JSON.stringify({
    prompt: question,
    cwd: "code",
    allowed_tools: ["Read", "Glob", "Grep"],
    permission_mode: "dontAsk",
    max_turns: 30,
  }),
});
const answer = (await response.json()) as { result?: string; total_cost_usd?: number; error?: { message: string } };
if (answer.error) console.error(answer.error.message);
else console.log(`${answer.result ?? ""}\nCost: $${answer.total_cost_usd ?? 0}`);
process.exitCode = response.ok ? 0 : 1;

await server.close();
rmSync(data, { recursive: true, force: true });
