/**
 * Skein adopts sessions of Codex and opencode (copies them into its store) and exports them. The real Claude Code
 * continues them.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Options, query } from "@anthropic-ai/claude-agent-sdk";
import { createMemoryStore } from "@skein/core";
import { getSession, withCarried, withSources } from "@skein/history";
import { type Simulator, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { agentData } from "../../../../history/test/sources/agent-data.ts";
import {
  adopt,
  claudeFiles,
  readClaudeSession,
  writeClaudeFiles,
} from "../../../src/runtimes/claude-code/adopt/index.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "skein-other-agents-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/**
 * Adopts a session of another coding agent, and writes it into a data directory of Claude Code. The session gets a
 * working folder that exists.
 */
async function sentToClaude(agent: "codex" | "opencode", id: string) {
  const home = folder();
  const work = join(home, "work");
  mkdirSync(work);
  const data = agentData(agent);
  const { config } = await withSources({ dataPath: data.roots, cacheFolder: join(home, "cache") });
  const found = await getSession(id, config);
  const store = createMemoryStore();
  const row = await withCarried(found, async ({ session, left }) => {
    expect(left).toContainEqual({ what: "thinking block", count: 1 });
    return await adopt(readClaudeSession({ ...session, projectPath: work }), {
      store,
      tenant: "default",
      folder: work,
    });
  });
  const events = await store.read(row.id);
  // The working folder of the session is not on this machine.
  const files = claudeFiles(row.id, events).map((file) => ({
    ...file,
    path: file.path.replace("projects/-srv-demo/", `projects/${work.replaceAll(/[^A-Za-z0-9]/g, "-")}/`),
    content: file.content.replaceAll("/srv/demo", work),
  }));
  writeClaudeFiles(files, join(home, ".claude"));
  return { home, work, id: row.id, title: found.summary, events };
}

describe("a session of another coding agent continues in Claude Code", { timeout: 120_000 }, () => {
  test.each([
    [
      "codex" as const,
      "0198c0de-0000-7000-8000-00000000000a",
      ["Run the tests", "npm test", "12 passing", "All 12 tests pass."],
    ],
    ["opencode" as const, "ses_a", ["Where are the helpers?", "a.ts", "helpers in a.ts", "In a.ts."]],
  ])("a session of %s continues in Claude Code", async (agent, sessionId, said) => {
    const { home, work, id, title, events } = await sentToClaude(agent, sessionId);
    expect(events.map(({ event_type }) => event_type)).toContain("tool.started");
    const options: Options = {
      cwd: work,
      resume: id,
      settingSources: [],
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        TMPDIR: home,
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        ANTHROPIC_BASE_URL: simulator.url,
        ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
        CLAUDE_CODE_MAX_RETRIES: "2",
      },
    };
    const prompt = `What did I ask? ${script([{ text: "You asked." }], agent)}`;
    let isError: boolean | undefined;
    for await (const message of query({ prompt, options })) if (message.type === "result") isError = message.is_error;
    expect(isError).toBe(false);
    const request = JSON.stringify(simulator.ledger.calls({ kind: "messages" }).at(-1)?.request);
    for (const words of said) expect(request).toContain(words);
    // Without a title line, Claude Code would show the last prompt as the title.
    const continued = await getSession(id, { dataPath: join(home, ".claude"), cacheFolder: null });
    expect(continued.messages.map(({ type }) => type)).toContain("last-prompt");
    expect(continued.summary).toBe(title);
  });
});
