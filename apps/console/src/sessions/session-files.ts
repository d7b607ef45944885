import type { Api, Session } from "../api/api.ts";

/** A chosen file, read and ready to be copied into the store. */
export interface SessionFile {
  readonly name: string;
  readonly kind: "export" | "transcript";
  /** How many events an export has, or how many lines a transcript. */
  readonly count: number;
  copy(api: Api): Promise<Pick<Session, "id">>;
}

/** Reads the chosen file. Throws an error that says why the file is not a session. */
export async function readSessionFile(file: File): Promise<SessionFile> {
  const { name } = file;
  const text = await file.text();
  if (name.endsWith(".jsonl")) {
    const transcript = claudeFile(name, text);
    const count = text.split("\n").filter((line) => line.trim() !== "").length;
    return { name, kind: "transcript", count, copy: (api) => api.adopt([transcript]) };
  }
  const parsed = jsonOf(text);
  if (parsed?.["format"] !== "skein.session")
    throw new Error(`${name} is neither an export of a session (.json) nor a transcript of Claude Code (.jsonl).`);
  const count = Array.isArray(parsed["events"]) ? parsed["events"].length : 0;
  const body = parsed as unknown as Parameters<Api["importSession"]>[0];
  return { name, kind: "export", count, copy: (api) => api.importSession(body) };
}

/**
 * Gives a transcript the path that Claude Code would use: `projects/FOLDER/ID.jsonl`. FOLDER is the working directory,
 * with `-` for other characters than letters and digits.
 */
function claudeFile(name: string, content: string): { path: string; content: string } {
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/.exec(name)?.[0];
  if (id === undefined)
    throw new Error(`${name} is not named after a session id. Claude Code names each transcript after its session.`);
  const folder = /"cwd":"((?:[^"\\]|\\.)*)"/.exec(content)?.[1] ?? "adopted";
  return { path: `projects/${folder.replaceAll(/[^A-Za-z0-9]/g, "-").slice(0, 200)}/${id}.jsonl`, content };
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
