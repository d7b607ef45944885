/**
 * Sessions of the unmodified Claude Agent SDK are adopted (copied into Skein's store), forked, exported and resumed.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Options, type SDKResultMessage, getSessionMessages, query } from "@anthropic-ai/claude-agent-sdk";
import { createMemoryStore, createSessions } from "@skein/core";
import { getSession } from "@skein/history";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  adopt,
  claudeFiles,
  readClaudeSession,
  writeClaudeFiles,
} from "../../../src/runtimes/claude-code/adopt/index.ts";

let home = "";
let work = "";
let simulator: Simulator;
let id = "";

const directory = (name: string): string => join(home, name);

function options(config: string): Options {
  return {
    cwd: work,
    permissionMode: "acceptEdits",
    allowedTools: ["Bash", "Read", "Write", "Agent"],
    settingSources: [],
    enableFileCheckpointing: true,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      TMPDIR: home,
      CLAUDE_CONFIG_DIR: directory(config),
      ANTHROPIC_BASE_URL: simulator.url,
      ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      CLAUDE_CODE_MAX_RETRIES: "2",
    },
  };
}

async function say(words: string, steps: readonly Step[], more: Options): Promise<SDKResultMessage> {
  let result: SDKResultMessage | undefined;
  for await (const message of query({ prompt: `${words} ${script(steps, words)}`, options: more }))
    if (message.type === "result") result = message;
  if (!result) throw new Error("The query ended without a result.");
  expect(result.is_error).toBe(false);
  return result;
}

/** Returns the last request to the model. */
function lastRequest(): string {
  return JSON.stringify(simulator.ledger.calls({ kind: "messages" }).at(-1)?.request);
}

function filesBelow(folder: string): ReadonlyMap<string, Buffer> {
  const kept = ["projects", "file-history"].map((name) => join(folder, name)).filter((path) => existsSync(path));
  const files = kept.flatMap((path) => readdirSync(path, { recursive: true, withFileTypes: true }));
  return new Map(
    files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path)]),
  );
}

async function adopted() {
  const store = createMemoryStore();
  const claude = readClaudeSession(await getSession(id, { dataPath: directory("first"), cacheFolder: null }));
  await adopt(claude, { store, tenant: "default" });
  return { store, sessions: createSessions({ store }) };
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "skein-adopt-"));
  work = await mkdtemp(join(home, "work-"));
  simulator = await createSimulator();
  await writeFile(join(work, "note.txt"), "the yarn is blue\n");
  const first = await say(
    "First turn:",
    [
      {
        thinking: "Three things at once.",
        text: "Looking.",
        tools: [
          { name: "Bash", input: { command: "echo from-bash-$((40+2))" } },
          { name: "Read", input: { file_path: join(work, "note.txt") } },
          {
            name: "Agent",
            input: {
              description: "look around",
              subagent_type: "general-purpose",
              prompt: `Look. ${script([{ text: "The subagent saw it." }], "subagent")}`,
            },
          },
        ],
      },
      { text: "The first answer." },
    ],
    options("first"),
  );
  id = first.session_id;
  await say(
    "Second turn:",
    [
      {
        tools: [
          { name: "Write", input: { file_path: join(work, "made.txt"), content: "new\n" } },
          // The output is too long for the transcript: Claude Code writes it into a file beside the transcript.
          { name: "Bash", input: { command: "seq 1 50000" } },
        ],
      },
      { text: "The second answer." },
    ],
    { ...options("first"), resume: id },
  );
}, 120_000);

afterAll(async () => {
  await simulator.close();
  await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

describe("sessions that the real Claude Code wrote are adopted", { timeout: 120_000 }, () => {
  test("an adopted session keeps its conversation, subagent, cost and checkpoints", async () => {
    const { store, sessions } = await adopted();
    const session = await sessions.get(id);
    expect(session).toMatchObject({ status: "idle", outcome: "completed", total_runs: 2, working_directory: work });
    expect(session.cost_micros).toBeGreaterThan(0);
    const transcript = await sessions.transcript(id);
    expect(transcript.map(({ role }) => role)).toEqual(
      Array.from({ length: 8 }, (_, place) => (place % 2 === 0 ? "user" : "assistant")),
    );
    expect(JSON.stringify(transcript[2]?.content)).toMatch(/from-bash-42.*the yarn is blue.*The subagent saw it/);
    const events = await sessions.events(id);
    const told = events.filter(({ event_type }) => event_type === "subagent.messaged");
    expect(JSON.stringify(told)).toContain("The subagent saw it.");
    const checkpoints = await store.checkpoints(id);
    expect(checkpoints.map(({ files_modified }) => files_modified)).toEqual([[], [join(work, "made.txt")]]);
  });

  test("an adopted session is exported byte for byte, and the SDK reads the same session from the export", async () => {
    const { sessions } = await adopted();
    writeClaudeFiles(claudeFiles(id, await sessions.events(id)), directory("second"));
    const [before, back] = [filesBelow(directory("first")), filesBelow(directory("second"))];
    expect([...before.keys()].some((path) => path.includes("/tool-results/"))).toBe(true);
    expect([...back.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    for (const [path, bytes] of before) expect(back.get(path)?.equals(bytes), path).toBe(true);
    // Exporting again changes nothing.
    writeClaudeFiles(claudeFiles(id, await sessions.events(id)), directory("second"));
    expect(await readBy("second")).toEqual(await readBy("first"));
  });

  test("the SDK resumes an adopted session from its exported files, and an adoption in another store has the new turn", async () => {
    const { sessions } = await adopted();
    writeClaudeFiles(claudeFiles(id, await sessions.events(id)), directory("third"));
    const result = await say("Third turn:", [{ text: "Still here." }], { ...options("third"), resume: id });
    expect(result.session_id).toBe(id);
    for (const words of ["The first answer.", "the yarn is blue", "The second answer."])
      expect(lastRequest()).toContain(words);
    const grown = readClaudeSession(await getSession(id, { dataPath: directory("third"), cacheFolder: null }));
    const store = createMemoryStore();
    expect(await adopt(grown, { store, tenant: "default" })).toMatchObject({ total_runs: 3 });
    // The existing file is newer, so the older state does not overwrite it.
    const older = claudeFiles(id, await sessions.events(id));
    expect(() => writeClaudeFiles(older, directory("third"))).toThrow(/exists already with other content/);
  });

  test("the SDK resumes a fork of an adopted session even without its parent, with only the messages up to the fork", async () => {
    const { sessions } = await adopted();
    const transcript = await sessions.transcript(id);
    const fork = await sessions.fork(id, { messageId: transcript[3]?.id ?? "" });
    await sessions.delete(id);
    writeClaudeFiles(claudeFiles(fork.id, await sessions.events(fork.id)), directory("fork"));
    const result = await say("Fork:", [{ text: "In the fork." }], { ...options("fork"), resume: fork.id });
    expect(result.session_id).toBe(fork.id);
    expect(lastRequest()).toContain("The first answer.");
    expect(lastRequest()).toContain("the yarn is blue");
    expect(lastRequest()).not.toContain("The second answer.");
  });

  test("tool calls without results at the end of a fork get results, so that the API accepts the conversation", async () => {
    const { sessions } = await adopted();
    const transcript = await sessions.transcript(id);
    const fork = await sessions.fork(id, { messageId: transcript[1]?.id ?? "" });
    writeClaudeFiles(claudeFiles(fork.id, await sessions.events(fork.id)), directory("open"));
    await say("Fork:", [{ text: "In the fork." }], { ...options("open"), resume: fork.id });
    expect(lastRequest()).toContain("its outcome is not carried over");
    expect(lastRequest()).not.toContain("the yarn is blue");
  });
});

/** Reads the session with the SDK's reader, which uses the data directory in the environment of this process. */
async function readBy(config: string): Promise<unknown> {
  const before = process.env["CLAUDE_CONFIG_DIR"];
  process.env["CLAUDE_CONFIG_DIR"] = directory(config);
  try {
    const messages = await getSessionMessages(id, { includeSystemMessages: true });
    expect(messages.length).toBeGreaterThan(5);
    return messages;
  } finally {
    if (before === undefined) delete process.env["CLAUDE_CONFIG_DIR"];
    else process.env["CLAUDE_CONFIG_DIR"] = before;
  }
}
