/** Makes a small data directory of Claude Code in a temporary folder. Tests can damage its files. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export type Fields = Readonly<Record<string, unknown>>;

export interface DataDirectory {
  readonly root: string;
  readonly cacheFolder: string;
  /** The configuration without an index. */
  readonly config: { readonly dataPath: string; readonly cacheFolder: null };
  /** The configuration with an index. */
  readonly indexed: { readonly dataPath: string; readonly cacheFolder: string };
  path(...parts: readonly string[]): string;
  write(path: string, content: string | Uint8Array): string;
  append(path: string, content: string): void;
  /** Writes a transcript and returns its path. */
  session(id: string, lines: readonly Fields[], project?: string): string;
}

export function createDataDirectory(): DataDirectory {
  const folder = mkdtempSync(join(tmpdir(), "skein-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "claude");
  const cacheFolder = join(folder, "cache");
  mkdirSync(join(root, "projects"), { recursive: true });
  const path = (...parts: readonly string[]): string => join(root, ...parts);
  const write = (relative: string, content: string | Uint8Array): string => {
    const target = path(relative);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    return target;
  };
  return {
    root,
    cacheFolder,
    config: { dataPath: root, cacheFolder: null },
    indexed: { dataPath: root, cacheFolder },
    path,
    write,
    append: (relative, content) => appendFileSync(path(relative), content),
    session: (id, lines, project = "-work-app") => write(join("projects", project, `${id}.jsonl`), jsonLines(lines)),
  };
}

export function jsonLines(lines: readonly Fields[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Returns the id of a session. Ids sort like their numbers. */
export function sessionId(number: number): string {
  return `${String(number).padStart(8, "0")}-aaaa-4aaa-8aaa-aaaaaaaaaaaa`;
}

/**
 * Makes the lines of one conversation. By default, the parent of a line is the previous line, and its time is one
 * second later.
 */
export interface Conversation {
  user(content: unknown, extra?: Fields): Fields;
  answer(blocks: unknown, extra?: Fields & { readonly message?: Fields }): Fields;
  line(type: string, extra?: Fields): Fields;
}

export function conversation(start = "2026-11-01T10:00:00.000Z", envelope: Fields = {}): Conversation {
  let time = Date.parse(start);
  let count = 0;
  let parentUuid: string | null = null;
  const chained = (body: Fields): Fields => {
    count += 1;
    const line: Fields = {
      parentUuid,
      isSidechain: false,
      cwd: "/work/app",
      version: "2.1.300",
      gitBranch: "main",
      ...envelope,
      uuid: `u-${start}-${count}`,
      timestamp: new Date(time).toISOString(),
      ...body,
    };
    time += 1000;
    parentUuid = line["uuid"] as string;
    return line;
  };
  return {
    user: (content, extra = {}) => chained({ type: "user", message: { role: "user", content }, ...extra }),
    answer(blocks, extra = {}) {
      const content = typeof blocks === "string" ? [{ type: "text", text: blocks }] : blocks;
      const { message, ...rest } = extra;
      const full = {
        model: "claude-opus-5",
        id: `msg_${start}_${count}`,
        type: "message",
        role: "assistant",
        content,
        stop_reason: "end_turn",
        usage: { input_tokens: 10, output_tokens: 20 },
        ...message,
      };
      return chained({ message: full, requestId: `req_${start}_${count}`, type: "assistant", ...rest });
    },
    line: (type, extra = {}) => chained({ type, ...extra }),
  };
}
