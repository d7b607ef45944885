/** Generates sessions of several coding agents, in the formats of real sessions. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const text = (seed: number, length: number): string => {
  const words = ["the", "test", "fails", "because", "file", "is", "locked", "function", "returns", "value", "error"];
  let made = "";
  for (let at = seed; made.length < length; at += 1) made += `${words[(at * 7 + seed) % words.length] ?? ""} `;
  return made.slice(0, length);
};

/**
 * The sizes of sessions relative to the average, which is 1. Like real sessions, a few are large and many are small.
 */
const sizes = [0.1, 0.4, 2.25, 0.2, 1, 0.15, 3.5, 0.6, 0.3, 1.5];
const sizeOf = (session: number, average: number): number => (sizes[session % sizes.length] ?? 1) * average;

const spanMinutes = 40 * 24 * 60;

/**
 * Spreads the sessions over the 40 days of Claude Code's generated sessions, so that every agent has some of the newest
 * sessions.
 */
const startOf = (session: number): number => Date.UTC(2026, 9, 1) + ((session * 7919) % spanMinutes) * 60_000;
const timeOf = (session: number, turn: number): string => new Date(startOf(session) + turn * 1000).toISOString();

/** Writes session files of Codex ("rollouts") with about `average` bytes each. */
export function writeRollouts(root: string, sessions: number, average: number): void {
  for (let session = 0; session < sessions; session += 1) {
    const bytes = sizeOf(session, average);
    const id = `0198c0de-0000-7000-8000-${session.toString(16).padStart(12, "0")}`;
    const time = timeOf(session, 0);
    const name = `rollout-${time.slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`;
    const path = join(root, "sessions", ...time.slice(0, 10).split("-"), name);
    const lines: object[] = [
      {
        type: "session_meta",
        payload: { id, timestamp: time, cwd: `/srv/project-${session % 20}`, cli_version: "0.166.0" },
      },
      {
        type: "turn_context",
        payload: { turn_id: `t-${session}`, model: "gpt-5-codex", cwd: `/srv/project-${session % 20}` },
      },
    ];
    let size = 0;
    let total = 0;
    for (let turn = 0; size < bytes; turn += 1) {
      total += 1000 + turn;
      const usage = { input_tokens: total, cached_input_tokens: 0, output_tokens: turn * 10, total_tokens: total };
      const call = {
        type: "function_call",
        name: "exec_command",
        arguments: '{"cmd":"npm test"}',
        call_id: `c${turn}`,
      };
      const made = [
        {
          type: "response_item",
          payload: { type: "message", role: "user", content: [{ type: "input_text", text: text(turn, 120) }] },
        },
        { type: "event_msg", payload: { type: "user_message", message: text(turn, 120) } },
        { type: "response_item", payload: call },
        {
          type: "response_item",
          payload: { type: "function_call_output", call_id: `c${turn}`, output: text(turn, 4000) },
        },
        { type: "event_msg", payload: { type: "token_count", info: { total_token_usage: usage } } },
        {
          type: "response_item",
          payload: { type: "message", role: "assistant", content: [{ type: "output_text", text: text(turn, 600) }] },
        },
      ];
      size += made.reduce((sum, line) => sum + JSON.stringify(line).length + 40, 0);
      lines.push(...made);
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, lines.map((line) => `${JSON.stringify({ timestamp: time, ...line })}\n`).join(""));
  }
}

/** Makes a database of opencode 1.x with about `bytes` bytes in total. */
export function writeOpencode(path: string, sessions: number, bytes: number): void {
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text, revert text, agent text, time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text);
    CREATE INDEX message_session ON message (session_id, time_created, id);
    CREATE INDEX part_message ON part (message_id, id); CREATE INDEX part_session ON part (session_id); BEGIN`);
  const addSession = database.prepare("INSERT INTO session VALUES (?, NULL, ?, ?, '1.18.0', NULL, 'build', ?, ?)");
  const addMessage = database.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?)");
  const addPart = database.prepare("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)");
  for (let session = 0; session < sessions; session += 1) {
    const turns = Math.max(1, Math.round(sizeOf(session, bytes / sessions) / 9000));
    const id = `ses_${String(session).padStart(6, "0")}`;
    const start = startOf(session);
    addSession.run(id, `/srv/project-${session % 20}`, `Session ${session}`, start, start + turns * 1000);
    for (let turn = 0; turn < turns; turn += 1) {
      const at = start + turn * 1000;
      const [asked, said] = [`${id}_${turn}a`, `${id}_${turn}b`];
      const tokens = { input: 100 + turn, output: 50, reasoning: 0, cache: { read: 1000, write: 10 } };
      addMessage.run(asked, id, at, at, JSON.stringify({ role: "user", time: { created: at } }));
      addPart.run(`p${asked}`, asked, id, at, at, JSON.stringify({ type: "text", text: text(turn, 200) }));
      const answer = {
        role: "assistant",
        modelID: "claude-sonnet-5",
        time: { created: at + 1, completed: at + 500 },
        tokens,
        cost: 0.01,
      };
      addMessage.run(said, id, at + 1, at + 1, JSON.stringify(answer));
      const state = {
        status: "completed",
        input: { command: "ls" },
        output: text(turn, 7000),
        time: { end: at + 400 },
      };
      addPart.run(
        `p${said}1`,
        said,
        id,
        at,
        at,
        JSON.stringify({ type: "tool", callID: `c${said}`, tool: "bash", state }),
      );
      addPart.run(`p${said}2`, said, id, at, at, JSON.stringify({ type: "text", text: text(turn, 500) }));
      addPart.run(`p${said}3`, said, id, at, at, JSON.stringify({ type: "step-finish", tokens, cost: 0.01 }));
    }
  }
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

type Turn = (turn: number) => readonly object[];

/** Writes a file of JSON lines, with a head and with turns until the size is reached. */
function writeLines(path: string, bytes: number, head: readonly object[], turnOf: Turn): void {
  const lines = head.map((line) => JSON.stringify(line));
  for (let turn = 0, size = 0; size < bytes; turn += 1)
    for (const line of turnOf(turn)) {
      const made = JSON.stringify(line);
      size += made.length + 1;
      lines.push(made);
    }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${lines.join("\n")}\n`);
}

const idOf = (session: number): string => `0198c0de-0000-4000-8000-${session.toString(16).padStart(12, "0")}`;

/** Writes sessions of pi with about `average` bytes each. */
export function writePi(root: string, sessions: number, average: number): void {
  for (let session = 0; session < sessions; session += 1) {
    const [id, project] = [idOf(session), session % 20];
    const head = { type: "session", version: 3, id, timestamp: timeOf(session, 0), cwd: `/srv/project-${project}` };
    const path = join(root, "sessions", `--srv-project-${project}--`, `2026-09-01T00-00-00-000Z_${id}.jsonl`);
    writeLines(path, sizeOf(session, average), [head], (turn) => {
      const entry = (name: string, parent: string | null, message: object): object => ({
        type: "message",
        id: `${name}${turn}`,
        parentId: parent,
        timestamp: timeOf(session, turn),
        message,
      });
      const usage = { input: 100 + turn, output: 50, cacheRead: 1000, cacheWrite: 10, totalTokens: 1160 };
      const call = { type: "toolCall", id: `c${turn}`, name: "bash", arguments: { command: "npm test" } };
      const said = { role: "assistant", provider: "anthropic", model: "claude-sonnet-5", responseId: `${id}${turn}` };
      const output = [{ type: "text", text: text(turn, 4000) }];
      return [
        entry("u", turn === 0 ? null : `r${turn - 1}`, { role: "user", content: text(turn, 120) }),
        entry("a", `u${turn}`, { ...said, content: [{ type: "text", text: text(turn, 600) }, call], usage }),
        entry("r", `a${turn}`, { role: "toolResult", toolCallId: `c${turn}`, toolName: "bash", content: output }),
      ];
    });
  }
}

/** Writes chats of Gemini CLI with about `average` bytes each. */
export function writeGemini(root: string, sessions: number, average: number): void {
  for (let session = 0; session < sessions; session += 1) {
    const sessionId = idOf(session);
    const project = `project-${session % 20}`;
    const [startTime, directories] = [timeOf(session, 0), [`/srv/${project}`]];
    const head = { sessionId, projectHash: project, startTime, lastUpdated: startTime, kind: "main", directories };
    const path = join(root, "tmp", project, "chats", `session-2026-08-10T09-00-${sessionId.slice(-12)}.jsonl`);
    writeLines(path, sizeOf(session, average), [head], (turn) => {
      const timestamp = timeOf(session, turn);
      const response = { functionResponse: { id: `c${turn}`, response: { output: text(turn, 4000) } } };
      const call = { id: `c${turn}`, name: "shell", args: { command: "npm test" }, status: "success", timestamp };
      const tokens = { input: 1000 + turn, output: 50, cached: 500, thoughts: 10, tool: 0, total: 1060 + turn };
      const said = { id: `g${turn}`, timestamp, type: "gemini", content: text(turn, 600), model: "gemini-3-pro" };
      return [
        { id: `u${turn}`, timestamp, type: "user", content: [{ text: text(turn, 120) }] },
        { ...said, thoughts: [], tokens, toolCalls: [{ ...call, result: [response] }] },
      ];
    });
  }
}

/** Writes sessions of Copilot CLI with about `average` bytes each. */
export function writeCopilot(root: string, sessions: number, average: number): void {
  for (let session = 0; session < sessions; session += 1) {
    const id = idOf(session);
    const event = (type: string, turn: number, data: object): object => ({
      type,
      data,
      id: `${type}-${turn}`,
      timestamp: timeOf(session, turn),
      parentId: null,
    });
    const context = { cwd: `/srv/project-${session % 20}`, branch: "main" };
    const head = event("session.start", 0, { sessionId: id, version: 1, copilotVersion: "1.0.91", context });
    const path = join(root, "session-state", id, "events.jsonl");
    writeLines(path, sizeOf(session, average), [head], (turn) => {
      const request = { toolCallId: `c${turn}`, name: "bash", arguments: { command: "npm test" } };
      const said = { messageId: `m${turn}`, model: "claude-sonnet-5", content: text(turn, 600), outputTokens: 50 };
      return [
        event("user.message", turn, { content: text(turn, 120), messageId: `u${turn}` }),
        event("assistant.message", turn, { ...said, toolRequests: [request] }),
        event("tool.execution_start", turn, request),
        event("tool.execution_complete", turn, {
          toolCallId: `c${turn}`,
          success: true,
          result: { content: text(turn, 4000) },
        }),
      ];
    });
  }
}
