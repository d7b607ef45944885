import { closeSync, readSync } from "node:fs";
import type { DataFile } from "../../../model/data-file.ts";
import { openPlainFile } from "../../../scan/read-file.ts";

export type AgentFiles = readonly DataFile[];

/** Finds the subagents of each session. In the old layout, only the lines of a subagent's file have the session's id. */
export function agentsBySession(
  all: readonly DataFile[],
  sessions: readonly DataFile[],
): ReadonlyMap<DataFile, AgentFiles> {
  const agents = all.filter(({ kind }) => kind === "agent");
  if (agents.length === 0) return new Map();
  const byKey = new Map(sessions.map((file) => [keyOf(file, file.sessionId), file]));
  const folders = new Set(sessions.map((file) => folderOf(file)));
  const found = new Map<DataFile, DataFile[]>();
  for (const file of agents) {
    if (!folders.has(folderOf(file))) continue;
    const session = byKey.get(keyOf(file, file.sessionId ?? parentOf(file)));
    if (!session) continue;
    const known = found.get(session);
    if (known) known.push(file);
    else found.set(session, [file]);
  }
  return found;
}

/** Reads the session's id from the first lines of a subagent's file, for the old layout. */
export function parentOf(file: DataFile): string | undefined {
  let fd: number;
  try {
    fd = openPlainFile(file.path);
  } catch {
    return undefined;
  }
  try {
    const head = Buffer.allocUnsafe(8192);
    const count = readSync(fd, head, 0, head.length, 0);
    return /"sessionId"\s*:\s*"([^"\\]+)"/.exec(head.toString("latin1", 0, count))?.[1];
  } finally {
    closeSync(fd);
  }
}

function folderOf(file: DataFile): string {
  return `${file.root}\0${file.encodedPath}`;
}

function keyOf(file: DataFile, sessionId: string | undefined): string {
  return `${folderOf(file)}\0${sessionId ?? ""}`;
}
