import { chmodSync, openSync, writeSync, closeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { type Sessions, type SessionQuery } from "@skein/core";
import { type Event, type Message, type Session, blocksOf } from "@skein/protocol";
import { cost, minute, moment, tokens } from "../terminal/amounts.ts";
import { EXIT, UsageError } from "../terminal/exit.ts";
import { print } from "./run.ts";
import { waitLines } from "../terminal/print-run.ts";
import type { Screen } from "../terminal/screen.ts";
import {
  JSON_OPTION,
  STORE_OPTION,
  type Call,
  type SessionCommand,
  runGroup,
  text,
  withSessions,
  wordsOf,
} from "../terminal/session-command.ts";
import { printTable } from "../terminal/table.ts";
import { brief, visible, visibleLine } from "../terminal/visible.ts";

const LIMIT_OPTION = ["limit", "N", "At most so many (default 50)"] as const;
const STATUSES = ["pending", "running", "completed", "failed"] as const;

const list: SessionCommand = {
  name: "sessions list",
  words: "",
  summary: "List the sessions of a store, the newest first.",
  options: [
    ["status", "STATUS", `Only those that are ${STATUSES.join(", ")}`],
    ["tag", "TAG", "Only those with this tag"],
    ["forks-of", "ID", "Only forks of this session"],
    ["subagents-of", "ID", "Only sessions that worked for this one"],
    ["after", "TIME", "Created after this (2026-11-15, 2026-11-15T12:00:00Z)"],
    ["before", "TIME", "Created before this"],
    LIMIT_OPTION,
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: [
    "skein sessions list",
    "skein sessions list --status running --json",
    "skein sessions list --after 2026-11-01",
  ],
  run: (call) =>
    withSessions(call, async (sessions) => {
      wordsOf(call);
      const items = await pages(sessions, queryOf(call), limitOf(call));
      if (call.values["json"] === true) for (const session of items) call.screen.json(session);
      else if (items.length === 0) call.screen.note("There is no session.\n");
      else printTable(call.screen, ["ID", "STATUS", "RUNS", "COST", "UPDATED", "TITLE"], items.map(row));
      return EXIT.completed;
    }),
};

const show: SessionCommand = {
  name: "sessions show",
  words: "SESSION",
  summary: "Show a session: what it is, what it waits for, and what was said.",
  options: [["events", null, "The events instead of the conversation"], JSON_OPTION, STORE_OPTION],
  examples: ["skein sessions show 0199c8f1-…", "skein sessions show 0199c8f1-… --events --json"],
  run: (call) =>
    withSessions(call, async (sessions, store) => {
      const [id = ""] = wordsOf(call, "SESSION");
      const session = await sessions.get(id);
      const { screen, values } = call;
      if (values["events"] === true) return showEvents(screen, await sessions.events(id), values["json"] === true);
      const transcript = await sessions.transcript(id);
      if (values["json"] === true) {
        screen.json({ ...session, awaits: await store.awaits(id), transcript });
        return EXIT.completed;
      }
      screen.out(describe(screen, session));
      for (const message of transcript) screen.out(said(screen, message));
      const waits = await store.awaits(id);
      if (waits.length > 0) screen.out(`\n${waitLines(screen, waits, text(values, "store"))}`);
      return EXIT.completed;
    }),
};

const follow: SessionCommand = {
  name: "sessions follow",
  words: "SESSION",
  summary: "Follow a session as it happens, in whichever process it runs. Ctrl-C ends the following, not the session.",
  options: [
    ["from", "SEQUENCE", "Begin after this event (default: what comes from now on; 0 = the beginning)"],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: ["skein sessions follow 0199c8f1-…", "skein sessions follow 0199c8f1-… --from 0 --json"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = ""] = wordsOf(call, "SESSION");
      const from = text(call.values, "from");
      if (from !== undefined && !/^\d+$/.test(from))
        throw new UsageError(`--from expects a number, and got "${from}".`);
      const { sequence } = await sessions.state(id);
      const stop = new AbortController();
      process.once("SIGINT", () => stop.abort());
      process.once("SIGTERM", () => stop.abort());
      const events = sessions.follow(id, { after: from === undefined ? sequence : Number(from) }, stop.signal);
      if (call.values["json"] === true) for await (const event of events) call.screen.json(event);
      else await print(call.screen, events);
      return EXIT.completed;
    }),
};

const fork: SessionCommand = {
  name: "sessions fork",
  words: "SESSION",
  summary: "Make a new session with the conversation of this one. This one is not touched.",
  options: [
    ["message", "ID", "Up to and including this message"],
    ["title", "TEXT", "The title of the new session"],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: ["skein sessions fork 0199c8f1-… --title 'Another way'"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = ""] = wordsOf(call, "SESSION");
      const messageId = text(call.values, "message");
      const title = text(call.values, "title");
      const made = await sessions.fork(id, {
        ...(messageId !== undefined && { messageId }),
        ...(title !== undefined && { title }),
      });
      if (call.values["json"] === true) call.screen.json(made);
      else call.screen.out(`${made.id}\n`);
      return EXIT.completed;
    }),
};

const cancel: SessionCommand = {
  name: "sessions cancel",
  words: "SESSION",
  summary: "Cancel the run that is under way, or one that is still queued.",
  options: [["run", "ID", "This run"], ["reason", "TEXT", "Kept in the log"], JSON_OPTION, STORE_OPTION],
  examples: ["skein sessions cancel 0199c8f1-… --reason 'Too expensive'"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = ""] = wordsOf(call, "SESSION");
      const runId = text(call.values, "run");
      const reason = text(call.values, "reason");
      const run = await sessions.cancel(id, {
        ...(runId !== undefined && { runId }),
        ...(reason !== undefined && { reason }),
      });
      if (call.values["json"] === true)
        call.screen.json({ session_id: id, run_id: run.id, event_sequence: run.sequence });
      else call.screen.note("The cancel is in the log. The process that drives the session ends the run.\n");
      return EXIT.completed;
    }),
};

const answer: SessionCommand = {
  name: "sessions answer",
  words: "SESSION TOOL_USE_ID TEXT",
  summary: "Answer a call that a session waits for: a question, a frontend tool, an approval.",
  options: [
    ["deny", null, "Deny an approval, or report that a frontend tool failed; TEXT says why"],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: [
    "skein sessions answer 0199c8f1-… toolu_01… blue",
    "skein sessions answer 0199c8f1-… toolu_02… 'Not on a Friday.' --deny",
  ],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = "", toolUseId = "", content = ""] = wordsOf(call, "SESSION", "TOOL_USE_ID", "TEXT");
      const answered = await sessions.answer(id, toolUseId, { content, isError: call.values["deny"] === true });
      if (call.values["json"] === true) call.screen.json(answered);
      else call.screen.note(`${answered.disposition}: ${visible(answered.reason)}\n`);
      return answered.disposition === "accepted" || answered.disposition === "duplicate" ? EXIT.completed : EXIT.failed;
    }),
};

const exportCommand: SessionCommand = {
  name: "sessions export",
  words: "SESSION [DIR]",
  summary:
    "Write the events of a session as JSON lines: everything that Skein knows of it. With --claude-code, write the files from which Claude Code resumes it.",
  options: [
    ["out", "FILE", "A new file that only you can read, instead of stdout"],
    ["claude-code", null, "Claude Code's own files, into DIR (default: CLAUDE_CONFIG_DIR or ~/.claude)"],
    STORE_OPTION,
  ],
  examples: [
    "skein sessions export 0199c8f1-… > session.jsonl",
    "skein sessions export 0199c8f1-… --out session.jsonl",
    "skein sessions export 0199c8f1-… --claude-code",
    "skein sessions export 0199c8f1-… --claude-code ./elsewhere/.claude",
  ],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const forClaude = call.values["claude-code"] === true;
      const [id = "", folder] = forClaude && call.words.length === 2 ? call.words : wordsOf(call, "SESSION");
      const file = text(call.values, "out");
      if (forClaude && file !== undefined)
        throw new UsageError("--claude-code writes several files: give a folder instead of --out.");
      const done = call.screen.progress("Reading the events");
      const events = await sessions.events(id).finally(done);
      if (forClaude) return writeForClaude(call.screen, { id, events, folder });
      if (file === undefined) {
        for (const event of events) call.screen.json(event);
        return EXIT.completed;
      }
      writePrivate(file, events);
      call.screen.note(`${events.length} events are in ${visibleLine(file)}.\n`);
      return EXIT.completed;
    }),
};

const importCommand: SessionCommand = {
  name: "sessions import",
  words: "FILE",
  summary:
    "Make a new session from an exported one: what `sessions export` wrote, or what the server's export answers.",
  options: [JSON_OPTION, STORE_OPTION],
  examples: ["skein sessions import session.jsonl", "skein sessions export 0199c8f1-… | skein sessions import -"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [file = ""] = wordsOf(call, "FILE");
      const done = call.screen.progress("Reading the events");
      const imported = await exportedEvents(file)
        .then((events) => sessions.import(events))
        .finally(done);
      if (call.values["json"] === true) call.screen.json(imported);
      else call.screen.out(`${imported.id}\n`);
      return EXIT.completed;
    }),
};

const remove: SessionCommand = {
  name: "sessions delete",
  words: "SESSION",
  summary: "Delete a session and everything that was said in it. There is no way back.",
  options: [["yes", null, "Do it"], STORE_OPTION],
  examples: ["skein sessions delete 0199c8f1-… --yes"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = ""] = wordsOf(call, "SESSION");
      const { title } = await sessions.get(id);
      if (call.values["yes"] !== true)
        throw new UsageError(
          `Session ${id}${title === null ? "" : ` ("${title}")`} would be gone for good. --yes deletes it.`,
        );
      await sessions.delete(id);
      call.screen.note("Deleted.\n");
      return EXIT.completed;
    }),
};

/** `skein sessions`. */
export function sessions(args: readonly string[]): Promise<number> {
  const commands = {
    list,
    show,
    follow,
    fork,
    cancel,
    answer,
    export: exportCommand,
    import: importCommand,
    delete: remove,
  };
  return runGroup({ name: "sessions", commands }, args);
}

async function pages(
  sessions: Sessions,
  query: Omit<SessionQuery, "tenant">,
  limit: number,
): Promise<readonly Session[]> {
  const found: Session[] = [];
  for (let cursor: string | null | undefined; found.length < limit && cursor !== null;) {
    const page = await sessions.list({
      ...query,
      limit: Math.min(100, limit - found.length),
      ...(typeof cursor === "string" && { cursor }),
    });
    found.push(...page.items);
    ({ cursor } = page);
  }
  return found;
}

function queryOf({ values }: Call): Omit<SessionQuery, "tenant"> {
  const status = text(values, "status");
  if (status !== undefined && !STATUSES.includes(status as (typeof STATUSES)[number]))
    throw new UsageError(`--status expects ${STATUSES.join(", ")}, and got "${status}".`);
  const given = {
    status: status as (typeof STATUSES)[number] | undefined,
    tag: text(values, "tag"),
    parentSessionId: text(values, "forks-of"),
    subagentOfSessionId: text(values, "subagents-of"),
    createdAfter: instant(values, "after"),
    createdBefore: instant(values, "before"),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function instant(values: Call["values"], name: string): string | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  const time = Date.parse(given);
  if (Number.isNaN(time)) throw new UsageError(`--${name} expects a time like 2026-11-15, and got "${given}".`);
  return new Date(time).toISOString();
}

/** `--limit`, as a number. */
export function limitOf({ values }: Call): number {
  const given = text(values, "limit") ?? "50";
  if (!/^[1-9]\d{0,5}$/.test(given))
    throw new UsageError(`--limit expects a number from 1 to 999999, and got "${given}".`);
  return Number(given);
}

function row(session: Session): readonly string[] {
  const status = session.status === "idle" ? (session.outcome ?? "idle") : session.status;
  return [
    session.id,
    status,
    String(session.total_runs),
    cost(session.cost_micros, session.unpriced_calls),
    minute(session.updated_at),
    brief(session.title ?? "", 60),
  ];
}

function describe(screen: Screen, session: Session): string {
  const { bold, dim } = screen.paint.out;
  const { title, status, outcome, total_runs, parent_session_id, subagent_of_session_id } = session;
  const facts = [
    `${status}${outcome === null ? "" : `, last run ${outcome}`}`,
    `${total_runs} ${total_runs === 1 ? "run" : "runs"}`,
    session.model,
    tokens(session.usage),
    cost(session.cost_micros, session.unpriced_calls),
    ...(parent_session_id === null ? [] : [`fork of ${parent_session_id}`]),
    ...(subagent_of_session_id === null ? [] : [`works for ${subagent_of_session_id}`]),
  ];
  return `${bold(visibleLine(title ?? session.id))}\n${dim(`${session.id} · ${facts.map(visibleLine).join(" · ")}`)}\n`;
}

function said(screen: Screen, { role, content }: Message): string {
  const { bold, cyan, dim } = screen.paint.out;
  const parts = blocksOf(content).map((block) => {
    switch (block.type) {
      case "text":
        return visible(String(block["text"]));
      case "tool_use":
        return cyan(`→ ${brief(`${String(block["name"])} ${JSON.stringify(block["input"])}`, 160)}`);
      case "tool_result": {
        const result = typeof block["content"] === "string" ? block["content"] : JSON.stringify(block["content"]);
        return dim(`${block["is_error"] === true ? "✗" : "✓"} ${brief(result ?? "", 160)}`);
      }
      default:
        return dim(`[${visibleLine(block.type)}]`);
    }
  });
  return `\n${bold(role)}\n${parts.join("\n")}\n`;
}

function showEvents(screen: Screen, events: readonly Event[], json: boolean): number {
  if (json) for (const event of events) screen.json(event);
  else {
    const rows = events.map(({ sequence, created_at, event_type, data }) => [
      String(sequence),
      moment(created_at),
      event_type,
      brief(JSON.stringify(data), 80),
    ]);
    printTable(screen, ["#", "TIME", "EVENT", "DATA"], rows);
  }
  return EXIT.completed;
}

async function writeForClaude(
  screen: Screen,
  { id, events, folder }: { id: string; events: readonly Event[]; folder: string | undefined },
): Promise<number> {
  const { claudeFiles } = await import("../adopt/claude-files.ts");
  const { writeClaudeFiles } = await import("../adopt/write-claude-files.ts");
  const { getDefaultDataPath } = await import("@skein/history");
  for (const path of writeClaudeFiles(claudeFiles(id, events), folder ?? getDefaultDataPath()))
    screen.out(`${visibleLine(path)}\n`);
  screen.note(`In its folder: claude --resume ${id}\n`);
  return EXIT.completed;
}

/** The events of a file (`-` is stdin): a line each, or all of them in the document of the server's export. */
async function exportedEvents(file: string): Promise<readonly unknown[]> {
  const written = await (file === "-" ? textOf(process.stdin) : readFile(file, "utf8"));
  const values = written
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [jsonLine(line, `line ${index + 1} of ${file}`)]));
  const [first] = values;
  return values.length === 1 && isDocument(first) ? first.events : values;
}

function jsonLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError(`${place} is not JSON. Give it what "skein sessions export" wrote.`);
  }
}

function isDocument(value: unknown): value is { readonly events: readonly unknown[] } {
  return typeof value === "object" && value !== null && "events" in value && Array.isArray(value.events);
}

/** A transcript may hold secrets: nobody else may read it, and no file is overwritten. */
function writePrivate(file: string, events: readonly Event[]): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    for (const event of events) writeSync(handle, `${JSON.stringify(event)}\n`);
  } finally {
    closeSync(handle);
  }
  chmodSync(file, 0o600);
}
