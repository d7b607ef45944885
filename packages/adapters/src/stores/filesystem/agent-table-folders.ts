import { lstatSync, readdirSync } from "node:fs";
import { readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isKeptUuid } from "@skein/protocol";
import { conversationName, documentText, nameWidth } from "./documents.ts";
import { addToFile, makeFolder, removeEntry, replaceFile } from "./durable-files.ts";
import type { Documented } from "./heads.ts";

/** What must be written for one session, as a consistent snapshot. */
export interface AgentDocuments {
  /**
   * Whether these are all documents of the session. If so, any other documents are removed, and documents that are
   * equal to those on disk are not written again.
   */
  readonly anew: boolean;
  readonly runs: readonly { readonly runId: string; readonly text: string; readonly whole: boolean }[];
  readonly conversations: readonly { readonly number: number; readonly text: string }[];
  readonly config: string | undefined;
  /** How many runs have ended. */
  readonly ended: number;
  /** The last event that the documents show. */
  readonly sequence: number;
}

/** The documents that were found in the three folders at open. */
interface FoundDocuments {
  readonly ids: ReadonlySet<string>;
  /** Whether a session's documents are unchanged: none was removed or added. */
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

  return {
    async write(sessionId, documents) {
      const config = join(configs, `${sessionId}.json`);
      await writeRuns(join(runs, sessionId), documents);
      await writeConversations(join(conversations, sessionId), documents);
      if (documents.config !== undefined) await put(config, documents.config, documents.anew);
      else if (documents.anew) removeEntry(config);
      return {
        sequence: documents.sequence,
        config: lstatSync(config, { throwIfNoEntry: false }) !== undefined,
        conversations: changedAt(join(conversations, sessionId)),
        runs: changedAt(join(runs, sessionId)),
      };
    },
    async remove(sessionId) {
      removeEntry(join(configs, `${sessionId}.json`));
      await rm(join(conversations, sessionId), { recursive: true, force: true });
      await rm(join(runs, sessionId), { recursive: true, force: true });
    },
    find() {
      const configNames = new Set(readdirSync(configs));
      const names = [...configNames, ...readdirSync(conversations), ...readdirSync(runs)];
      return {
        ids: new Set(names.map((name) => name.replace(/\.json$/, "")).filter((id) => isKeptUuid(id))),
        asLeft: (id, documents) =>
          documents.sequence >= 0 &&
          documents.config === configNames.has(`${id}.json`) &&
          documents.conversations === changedAt(join(conversations, id)) &&
          documents.runs === changedAt(join(runs, id)),
      };
    },
  };
}

/** A folder's modification time changes when a file is added or removed. */
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

/** Replaces a document. A document that may be up to date is read first, which is much cheaper than writing a file. */
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
 * Names have at least three digits, and as many as the greatest number, so that they stay sorted. So all documents of a
 * folder are renamed when it gets number 1,000, 10,000 …
 */
async function widenNames(folder: string, width: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const number = /^(\d+)\.json$/.exec(name)?.[1];
    if (number !== undefined && number.length < width)
      await rename(join(folder, name), join(folder, conversationName(Number(number), width)));
  }
}
