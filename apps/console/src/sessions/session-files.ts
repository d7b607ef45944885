import type { Api, Session } from "../api/api.ts";

/** Imports the chosen file. Throws an error that says why the file is not a session. */
export async function sessionFromFile(api: Api, file: File): Promise<Pick<Session, "id">> {
  const text = await file.text();
  if (file.name.endsWith(".jsonl")) return api.adopt([claudeFile(file.name, text)]);
  const parsed = jsonOf(text);
  if (parsed?.["format"] !== "skein.session")
    throw new Error(`${file.name} is neither an export of a session (.json) nor a transcript of Claude Code (.jsonl).`);
  return api.importSession(parsed as unknown as Parameters<Api["importSession"]>[0]);
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
