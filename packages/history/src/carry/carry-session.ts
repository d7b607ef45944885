/**
 * Converts a session of an agent other than Claude Code into files of Claude Code. Skein and Claude Code can continue
 * the session.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, mkdtempSync, writeFileSync, existsSync, copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { getSession } from "../get/get-session.ts";
import type { Session } from "../model/types.ts";
import type { Value } from "../model/value.ts";
import { parseLine } from "../scan/parse-line.ts";
import { encodeProjectPath } from "../sources/claude-code/discover/encode-project-path.ts";
import { namedFiles } from "./named-files.ts";
import { carryLines } from "./carry-lines.ts";
import { createLosses, type LeftBehind } from "./losses.ts";

export interface CarriedSession {
  /** The session in Claude Code's format. Its files are removed when `work` ends. */
  readonly session: Session;
  /** What is not carried over, for the person who decides whether to continue. */
  readonly left: readonly LeftBehind[];
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the session's id if it is a UUID. If not, computes a UUID from the id. */
function carriedId(source: string, id: string): string {
  if (uuidForm.test(id)) return id.toLowerCase();
  const hex = createHash("sha256").update(`${source}\0${id}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Runs `work` on the session in Claude Code's format. A session of Claude Code is passed unchanged. */
export async function withCarried<T>(session: Session, work: (carried: CarriedSession) => Promise<T>): Promise<T> {
  if (session.source === "claude-code") return await work({ session, left: [] });
  const root = mkdtempSync(join(tmpdir(), "skein-carry-"));
  try {
    const { id, left } = writeCarried(session, root);
    return await work({ session: await getSession(id, { dataPath: root, cacheFolder: null }), left });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function writeCarried(session: Session, root: string): { readonly id: string; readonly left: readonly LeftBehind[] } {
  const id = carriedId(session.source, session.id);
  const known = session.projectPathSource === "folder" ? process.cwd() : session.projectPath;
  const folder = join(root, "projects", encodeProjectPath(known));
  const losses = createLosses();
  const write = (from: string, to: string, title: string | null = null): void => {
    const carried = carryLines(recordsOf(from), { sessionId: id, losses });
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const lines = [...carried, ...titleLines(title, carried, id)];
    writeFileSync(to, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  };
  write(session.path, join(folder, `${id}.jsonl`), session.summary);
  for (const { path } of session.agents) {
    if (path === null) continue;
    const name = basename(path).replaceAll(/[^A-Za-z0-9_.-]/g, "_");
    write(path, join(folder, id, "subagents", name));
    const meta = path.replace(/\.jsonl$/, ".meta.json");
    if (existsSync(meta)) copyFileSync(meta, join(folder, id, "subagents", name.replace(/\.jsonl$/, ".meta.json")));
  }
  const missing = namedFiles(session).filter((path) => !existsSync(path)).length;
  if (missing > 0)
    losses.add("missing file that the session has used", "missing files that the session has used", missing);
  return { id, left: losses.all() };
}

/**
 * Makes a line with the title if the session's lines have no title. Without a title, Claude Code would show the last
 * prompt.
 */
function titleLines(title: string | null, lines: readonly Value[], sessionId: string): readonly Value[] {
  if (title === null || lines.some(({ type }) => type === "custom-title")) return [];
  return [{ type: "custom-title", customTitle: title, sessionId }];
}

function recordsOf(path: string): readonly (Value | undefined)[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line, at): readonly (Value | undefined)[] => {
      const records = parseLine(Buffer.from(line), { line: at + 1, offset: at }, () => {});
      return records.length === 0 ? [undefined] : records.map(({ value }) => value);
    });
}
