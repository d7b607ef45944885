/**
 * A server that runs one turn of the real Claude Code and is killed by a test. Arguments: guarded or bare, folder,
 * prompt.
 */
import { join } from "node:path";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { createSpawnChild } from "../../../src/runtimes/claude-code/process-guard/index.ts";
import { openNone } from "../../../src/sandboxes/none.ts";

const [how = "", folder = "", prompt = ""] = process.argv.slice(2);
const found = await openNone();
if ("problem" in found) throw new Error(found.problem);
const options = {
  cwd: folder,
  settingSources: [],
  allowedTools: ["Bash"],
  env: { ...process.env, HOME: folder, TMPDIR: folder, CLAUDE_CONFIG_DIR: join(folder, "config") },
  ...(how === "guarded" && {
    spawnClaudeCodeProcess: createSpawnChild({ ...found, folder: join(folder, "run") }),
  }),
};
for await (const message of query({ prompt, options })) process.stdout.write(`${message.type}\n`);
