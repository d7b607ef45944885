/**
 * A session of the real Claude Code shows the same conversation in every interface of Skein. An adopted session
 * continues on the server, and afterwards again in Claude Code.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Options, query as ask } from "@anthropic-ai/claude-agent-sdk";
import { writeClaudeFiles } from "@skein/adapters/runtimes/claude-code/adopt";
import { createSessions } from "@skein/core";
import { getSession } from "@skein/history";
import { type ClaudeFile, type Content, type ContentBlock, type JsonObject, blocksOf } from "@skein/protocol";
import { script, type Step } from "@skein/simulator";
import { createSql } from "@skein/sql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../../../../skein/src/open-store.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only } from "./world.ts";
import { folder, settled } from "../../world.ts";

let server: ClaudeServer;
let data = "";
let address = "";

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "skein-faces-"));
  // The store is on disk, because the library and SQL open it while the server uses it.
  address = `sqlite:${join(data, "faces.db")}`;
  server = await claudeServer({ storeUrl: address });
}, 60_000);
afterAll(async () => {
  await server.close();
  rmSync(data, { recursive: true, force: true });
});

const play = (words: string, ...steps: Step[]): string => `${words} ${script(steps, words)}`;

/** A message in a form for comparison: the role, the text, and the calls with their results. */
type Said = readonly [role: string, words: string];

function told(role: string, content: Content): Said {
  const words = blocksOf(content).flatMap((block) => {
    switch (block.type) {
      case "text":
        return [String(block["text"])];
      case "tool_use":
        return [`→ ${String(block["id"])} ${String(block["name"])} ${JSON.stringify(block["input"])}`];
      case "tool_result":
        return [`← ${String(block["tool_use_id"])} ${plain(block["content"])}`];
      default:
        return [];
    }
  });
  return [role, words.join("\n")];
}

function plain(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("\n") : "";
}

test("the library, /v1, /api/v1, SQL and the exported files show the same conversation", async () => {
  writeFileSync(join(server.work, "note.txt"), "the yarn is blue\n");
  const read = { name: "Read", input: { file_path: join(server.work, "note.txt") } };
  // The session begins in the Claude API, continues in the platform API, and then in a program.
  const frames = await all(server, "/api/v1/query", {
    prompt: play("First:", { text: "Looking.", tools: [read] }, { text: "It is blue." }),
    cwd: server.work,
    allowed_tools: ["Read"],
  });
  const id = only(frames, "init").data.session_id;
  const path = `/v1/sessions/${id}`;
  const posted = await server.call("POST", `${path}/messages`, {
    role: "user",
    content: { text: play("Second:", { text: "Still blue." }) },
  });
  expect(posted.status).toBe(202);
  await expect.poll(async () => (await server.call("GET", path)).body["total_runs"]).toBe(2);
  await settled(server.call, path);
  const store = await openStore(address);
  const library = createSessions({ store });
  await library.prompt(id, play("Third:", { text: "Blue for ever." }));
  await expect.poll(async () => (await server.call("GET", path)).body["total_runs"]).toBe(3);
  await settled(server.call, path);

  const inLibrary = (await library.transcript(id)).map(({ role, content }) => told(role, content));
  expect(inLibrary.map(([role]) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(inLibrary[2]?.[1]).toContain("the yarn is blue");
  expect(inLibrary.at(-1)).toEqual(["assistant", "Blue for ever."]);

  const { body } = await server.call("GET", `/api/v1/sessions/${id}/messages?page_size=100`);
  const inClaude = (body["messages"] as { message_type: string; content: JsonObject }[])
    .filter(({ message_type }) => message_type === "user" || message_type === "assistant")
    .map(({ message_type, content }) => told(message_type, content["content"] as Content));
  expect(inClaude).toEqual(inLibrary);

  const rows = (await server.call("GET", `${path}/messages?limit=100`)).body.data;
  expect(rows.map(wordsOfRow).join("\n")).toBe(inLibrary.map(([, words]) => words).join("\n"));

  const sql = await createSql({ roots: [folder()], store });
  const [answer] = await sql.run(
    `select message_type, content from api.session_messages where session_id = '${id}' and message_type in ('user', 'assistant')`,
  );
  const [numbered] = await sql.run(`select id from platform.messages where session_id = '${id}' order by sequence`);
  sql.close();
  const inSql = answer?.rows.map(([type, content]) => {
    const message = (typeof content === "string" ? JSON.parse(content) : content) as JsonObject;
    return told(type as string, message["content"] as Content);
  });
  expect(inSql).toEqual(inLibrary);
  expect(numbered?.rows.length).toBe(rows.length);

  const sent = folder();
  writeClaudeFiles(await filesOf(id, "Blue for ever."), sent);
  const history = await getSession(id, { dataPath: sent, cacheFolder: null });
  expect(conversation(history.messages)).toEqual(inLibrary);
  await store.close();
}, 120_000);

/** Returns the exported files of a session, after Claude Code has written its last line. */
async function filesOf(sessionId: string, lastWords: string): Promise<readonly ClaudeFile[]> {
  let files: ClaudeFile[] = [];
  await expect
    .poll(async () => {
      files = ((await server.call("GET", `/api/v1/sessions/${sessionId}/export`)).body["files"] ?? []) as ClaudeFile[];
      return files.some(({ content }) => content.includes(JSON.stringify(lastWords)));
    })
    .toBe(true);
  return files;
}

/** Converts a row of the platform API to the form for comparison. */
function wordsOfRow(row: Record<string, unknown>): string {
  const content = row["content"] as JsonObject;
  if (row["role"] === "tool_call")
    return `→ ${String(content["id"])} ${String(content["name"])} ${JSON.stringify(content["arguments"])}`;
  if (row["role"] === "tool_result")
    return `← ${String(row["tool_call_id"])} ${plain(content["result"] ?? content["error"])}`;
  return String(content["text"]);
}

/** Converts Claude Code's file to the form for comparison. The file has one line for each block and each result. */
function conversation(messages: Awaited<ReturnType<typeof getSession>>["messages"]): readonly Said[] {
  return messages.flatMap((message): readonly Said[] => {
    const { content, isMeta } = (message.raw["message"] ?? {}) as { content?: Content; isMeta?: boolean };
    if (message.role === "assistant") return [told("assistant", message.content as unknown as ContentBlock[])];
    if (message.role !== "user" || isMeta === true || message.raw["isMeta"] === true || content === undefined)
      return [];
    return [told("user", content)];
  });
}

test("an adopted session of Claude Code continues and forks on the server, and is resumed in Claude Code", async () => {
  const elsewhere = folder();
  const options = (config: string): Options => ({
    cwd: server.work,
    permissionMode: "default",
    settingSources: [],
    env: {
      PATH: process.env["PATH"],
      HOME: elsewhere,
      TMPDIR: elsewhere,
      CLAUDE_CONFIG_DIR: config,
      ANTHROPIC_BASE_URL: server.simulator.url,
      ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  });
  const say = async (prompt: string, more: Options): Promise<string> => {
    for await (const message of ask({ prompt, options: more }))
      if (message.type === "result") return message.session_id;
    throw new Error("The query ended without a result.");
  };
  const id = await say(play("Begun there:", { text: "The secret word is walnut." }), options(join(elsewhere, "there")));
  const files = readdirSync(join(elsewhere, "there", "projects"), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.endsWith(".jsonl"))
    .map(({ parentPath, name }) => join(parentPath, name));
  const upload = files.map((file) => ({
    path: file.slice(join(elsewhere, "there").length + 1),
    content: readFileSync(file, "utf8"),
  }));
  const adopted = await server.call("POST", "/api/v1/sessions/adopt", { files: upload });
  expect(adopted.status).toBe(201);
  // The operator has allowed this folder, so the session continues in its original folder.
  expect(adopted.body).toMatchObject({ id, working_directory: server.work });

  const here = await all(server, `/api/v1/sessions/${id}/resume`, {
    prompt: play("Gone on here:", { text: "Walnut it is." }),
  });
  expect(only(here, "init").data.session_id).toBe(id);
  expect(only(here, "result").data).toMatchObject({ is_error: false, result: "Walnut it is." });
  expect(JSON.stringify(server.requests("Gone on here:"))).toContain("The secret word is walnut.");

  await filesOf(id, "Walnut it is.");
  const forked = await all(server, `/api/v1/sessions/${id}/fork`, {
    prompt: play("Forked here:", { text: "In the fork." }),
  });
  const forkId = only(forked, "init").data.session_id;
  expect(forkId).not.toBe(id);
  expect(JSON.stringify(server.requests("Forked here:"))).toContain("Walnut it is.");

  for (const sessionId of [id, forkId]) {
    const home = join(elsewhere, `back-${sessionId}`);
    writeClaudeFiles(await filesOf(sessionId, sessionId === id ? "Walnut it is." : "In the fork."), home);
    const label = `Back there ${sessionId}:`;
    expect(await say(play(label, { text: "Here again." }), { ...options(home), resume: sessionId })).toBe(sessionId);
    const [request] = server.requests(label);
    expect(JSON.stringify(request)).toContain("The secret word is walnut.");
    expect(JSON.stringify(request)).toContain("Walnut it is.");
    expect(JSON.stringify(request).includes("In the fork.")).toBe(sessionId === forkId);
  }
}, 120_000);
