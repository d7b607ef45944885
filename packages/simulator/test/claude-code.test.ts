/** The unmodified Claude Agent SDK with its own binary, configured to send its model calls to the simulator. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { query, type Options, type SDKMessage, type SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { script, type Simulator, type Step } from "@skein/simulator";
import { rig } from "./client.ts";

let home = "";

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "skein-simulator-"));
});

afterEach(async () => {
  // The child may still be writing its last lines.
  await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

function options(simulator: Simulator): Options {
  return {
    cwd: home,
    permissionMode: "default",
    settingSources: [],
    // This replaces the child's environment, so the child gets no variable of the test's process.
    env: {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: home,
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      ANTHROPIC_BASE_URL: simulator.url,
      ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "2",
    },
  };
}

async function run(prompt: string, options: Options): Promise<{ messages: SDKMessage[]; result: SDKResultMessage }> {
  const messages: SDKMessage[] = [];
  for await (const message of query({ prompt, options })) messages.push(message);
  const result = messages.find((message) => message.type === "result");
  if (!result) throw new Error("The query ended without a result.");
  return { messages, result };
}

const play = (...steps: Step[]): string => `Please do it. ${script(steps, "claude-code")}`;

test("a scripted turn runs real tools, and a resumed session continues", async () => {
  const { simulator } = await rig();
  await writeFile(join(home, "note.txt"), "the yarn is blue\n");
  const prompt = play(
    {
      thinking: "Two things at once.",
      text: "Looking.",
      tools: [
        { name: "Bash", input: { command: "echo from-bash-$((40+2))" } },
        { name: "Read", input: { file_path: join(home, "note.txt") } },
      ],
    },
    { text: "The note: $LAST" },
  );
  const first = await run(prompt, {
    ...options(simulator),
    allowedTools: ["Bash", "Read"],
    includePartialMessages: true,
  });
  expect(first.result).toMatchObject({ subtype: "success", is_error: false });
  expect((first.result as { result: string }).result).toContain("the yarn is blue");
  expect(JSON.stringify(first.messages)).toContain("from-bash-42");

  const resumed = await run(play({ text: "Still here on $MODEL." }), {
    ...options(simulator),
    resume: first.result.session_id,
  });
  expect(resumed.result).toMatchObject({
    subtype: "success",
    result: expect.stringMatching(/^Still here on claude-/) as string,
  });
  expect(resumed.result.session_id).toBe(first.result.session_id);

  const calls = simulator.ledger.calls({ kind: "messages" });
  expect(calls.map(({ label, step, outcome }) => [label, step, outcome])).toEqual([
    ["claude-code", 0, "answered"],
    ["claude-code", 1, "answered"],
    ["claude-code", 0, "answered"],
  ]);
  expect(calls[1]?.usage?.cache_read_input_tokens).toBeGreaterThan(1024);
  expect(JSON.stringify(calls[2]?.request)).toContain("the yarn is blue");
});

test("Claude Code retries after an overload; if a stream breaks, it sends the request again without streaming", async () => {
  const { simulator } = await rig();
  const prompt = play({
    text: "Whole after all.",
    error: { status: 529, times: 1, headers: { "retry-after": "0" } },
    streamError: { afterChunks: 1 },
  });
  const { result } = await run(prompt, options(simulator));
  expect(result).toMatchObject({ subtype: "success", result: "Whole after all." });
  const calls = simulator.ledger.calls({ label: "claude-code" });
  expect(calls.map(({ status, stream, outcome }) => [status, stream, outcome])).toEqual([
    [529, true, "faulted"],
    [200, true, "faulted"],
    [200, false, "answered"],
  ]);
});

test("without a script, the simulator's answers use the tools of Claude Code", async () => {
  const { simulator } = await rig();
  const { messages, result } = await run("Use the Bash tool to run `echo a-demo`", {
    ...options(simulator),
    allowedTools: ["Bash"],
  });
  expect(JSON.stringify(messages)).toContain("a-demo");
  expect(result).toMatchObject({
    subtype: "success",
    num_turns: 2,
    result: expect.stringContaining("simulation") as string,
  });
});
