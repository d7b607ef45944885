import { lstatSync, readdirSync } from "node:fs";
import { readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isKeptUuid } from "@skein/protocol";
import { conversationName, documentText, nameWidth } from "./documents.ts";
import { addToFile, makeFolder, removeEntry, replaceFile } from "./durable-files.ts";
import { DOCUMENTS_VERSION, type Documented } from "./heads.ts";

/** The documents to write for a session, as a consistent snapshot. */
export interface AgentDocuments {
  /**
   * True if these are all documents of the session. All other documents are then removed, and unchanged documents are
   * not written again.
   */
  readonly anew: boolean;
  readonly runs: readonly { readonly runId: string; readonly text: string; readonly whole: boolean }[];
  readonly conversations: readonly { readonly number: number; readonly text: string }[];
  readonly config: string | undefined;
  /**
   * False if the log contains something that this version cannot fold. The configuration and the conversations are then
   * removed, because they would be out of date.
   */
  readonly isFolded: boolean;
  /** The number of ended runs. */
  readonly ended: number;
  /** The sequence of the last event in the documents. */
  readonly sequence: number;
}

/** The documents in the three folders when the store was opened. */
interface FoundDocuments {
  readonly ids: ReadonlySet<string>;
  /** Returns true if no document of a session was removed or added, and this version would write the same documents. */
  asLeft(sessionId: string, documents: Documented): boolean;
}

/** The folders of the three agent tables on disk. */
export interface AgentTableFolders {
  write(sessionId: string, documents: AgentDocuments): Promise<Documented>;
  remove(sessionId: string): Promise<void>;
  find(): FoundDocuments;
}

export function createAgentTableFolders(folder: string): AgentTableFolders {
  const configs = join(folder, "agent_config");
  const conversations = join(folder, "conversation_history");
  const runs = join(folder, "agent_runs");
  for (const path of [configs, conversations, runs]) makeFolder(path);

  /** Removes the configuration and the conversations of a session. */
  async function removeFolded(sessionId: string): Promise<void> {
    removeEntry(join(configs, `${sessionId}.json`));
    await rm(join(conversations, sessionId), { recursive: true, force: true });
  }

  return {
    async write(sessionId, documents) {
      const config = join(configs, `${sessionId}.json`);
      await writeRuns(join(runs, sessionId), documents);
      await writeConversations(join(conversations, sessionId), documents);
      if (documents.config !== undefined) await put(config, documents.config, documents.anew);
      else if (documents.anew) removeEntry(config);
      if (!documents.isFolded) await removeFolded(sessionId);
      return {
        sequence: documents.sequence,
        config: lstatSync(config, { throwIfNoEntry: false }) !== undefined,
        conversations: changedAt(join(conversations, sessionId)),
        runs: changedAt(join(runs, sessionId)),
        version: DOCUMENTS_VERSION,
      };
    },
    async remove(sessionId) {
      await removeFolded(sessionId);
      await rm(join(runs, sessionId), { recursive: true, force: true });
    },
    find() {
      const configNames = new Set(readdirSync(configs));
      const names = [...configNames, ...readdirSync(conversations), ...readdirSync(runs)];
      return {
        ids: new Set(names.map((name) => name.replace(/\.json$/, "")).filter((id) => isKeptUuid(id))),
        asLeft: (id, documents) =>
          documents.sequence >= 0 &&
          documents.version === DOCUMENTS_VERSION &&
          documents.config === configNames.has(`${id}.json`) &&
          documents.conversations === changedAt(join(conversations, id)) &&
          documents.runs === changedAt(join(runs, id)),
      };
    },
  };
}

/** Returns the modification time of a folder. It changes when a file is added or removed. */
function changedAt(folder: string): number | null {
  return lstatSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? null;
}

async function writeRuns(folder: string, { runs, anew }: AgentDocuments): Promise<void> {
  if (anew) await removeOthers(folder, new Set(runs.map(({ runId }) => `${runId}.jsonl`)));
  if (runs.length > 0) makeFolder(folder);
  for (const { runId, text, whole } of runs) {
    const path = join(folder, `${runId}.jsonl`);
    await (whole ? put(path, text, anew) : addToFile(path, text));
  }
}

async function writeConversations(folder: string, { conversations, ended, anew }: AgentDocuments): Promise<void> {
  const last = conversations.at(-1)?.number ?? 0;
  const width = nameWidth(last);
  const names = conversations.map(({ number }) => conversationName(number, width));
  if (anew) await removeOthers(folder, new Set([...names, "index.json"]));
  if (last === 0) return;
  makeFolder(folder);
  const before = (conversations[0]?.number ?? 1) - 1;
  if (!anew && before > 0 && nameWidth(before) < width) await widenNames(folder, width);
  for (const { number, text } of conversations) await put(join(folder, conversationName(number, width)), text, anew);
  const index = documentText({ last_sequence: last, total_conversations: ended });
  await put(join(folder, "index.json"), index, anew);
}

/**
 * Replaces a document. With `compare`, first reads the document, because reading is much cheaper than writing an
 * unchanged file.
 */
async function put(path: string, text: string, compare: boolean): Promise<void> {
  if (compare && (await readFile(path, "utf8").catch(() => undefined)) === text) return;
  await replaceFile(path, text, false);
}

async function removeOthers(folder: string, expected: ReadonlySet<string>): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (!expected.has(name)) await rm(join(folder, name), { recursive: true, force: true });
  if (expected.size === 0 || names.length === 0) await rm(folder, { recursive: true, force: true });
}

/**
 * Renames all documents of a folder when it gets number 1,000, 10,000 and so on. A name has as many digits as the
 * largest number, but at least three, so that names stay sorted.
 */
async function widenNames(folder: string, width: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const number = /^(\d+)\.json$/.exec(name)?.[1];
    if (number !== undefined && number.length < width)
      await rename(join(folder, name), join(folder, conversationName(Number(number), width)));
  }
}
