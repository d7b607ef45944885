import {
  adopt,
  changedFiles,
  claudeFiles,
  readClaudeSession,
  writeClaudeFiles,
} from "@skein/adapters/runtimes/claude-code/adopt";
import type { Store } from "@skein/core";
import { getSession } from "@skein/history";
import { type ClaudeFile, KnownError } from "@skein/protocol";
import type { Adoption } from "@skein/server";
import { sessionPage } from "./serve/history/session-page.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes sessions of Skein from Claude Code's session files, which clients send to a server. */
export function createAdoption({ store }: { readonly store: Store }): Adoption {
  return {
    async adopt(files, { tenant, folderFor }) {
      const sessionId = sessionOf(files);
      // The history library reads only folders, so the files are first written to a temporary folder.
      const folder = await mkdtemp(join(tmpdir(), "skein-adopt-"));
      try {
        writeClaudeFiles(files, folder);
        const session = readClaudeSession(await getSession(sessionId, { dataPath: folder, cacheFolder: null }));
        const place = session.cwd === null ? null : await folderFor(session.cwd, sessionId);
        return await adopt(session, { store, tenant, folder: place });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    filesOf: claudeFiles,
    changedFiles,
    pageOf: sessionPage,
  };
}

/** Returns the id of the session to which all of these files belong. Rejects files of several sessions. */
function sessionOf(files: readonly ClaudeFile[]): string {
  const names = files.map(({ path }) => path.split("/"));
  const ids = new Set(names.map(([kind, first, second]) => (kind === "projects" ? second : first)?.slice(0, 36)));
  const projects = new Set(names.flatMap(([kind, first]) => (kind === "projects" ? [first] : [])));
  const [id] = ids;
  const [project] = projects;
  const isOne = ids.size === 1 && projects.size === 1 && new Set(files.map(({ path }) => path)).size === files.length;
  if (!isOne || id === undefined || !files.some(({ path }) => path === `projects/${project}/${id}.jsonl`))
    throw new KnownError("invalid", "files: Expected the files of one session, including its transcript.");
  return id;
}
