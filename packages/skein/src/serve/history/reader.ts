/** The thread that reads the files of coding agents. Several questions can run at once, and each can be aborted. */
import { parentPort, workerData } from "node:worker_threads";
import {
  createTitles,
  isDataNotFoundError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
} from "@skein/history";
import { isKnownError } from "@skein/protocol";
import type { FromReader, Method, ReaderOptions, RefusalCode, ToReader } from "./messages.ts";
import { createQuestions } from "./questions.ts";
import { followAgents } from "./follow-agents.ts";
import { followFolders } from "./follow-folders.ts";
import { keepIndexed } from "./keep-indexed.ts";
import { createWholeList } from "./whole-list.ts";

const options = workerData as ReaderOptions;
const { roots, cacheFolder } = options;
const library = followAgents({ cacheFolder, titles: createTitles(), ...(roots && { dataPath: roots }) });
const { config } = library;
const whole = createWholeList();
const questions = createQuestions(config, whole);
const indexed = keepIndexed(library);
const running = new Map<number, AbortController>();
/**
 * The answers on a machine without sessions of coding agents. If the operator named folders, missing data is an error.
 */
const EMPTY: Partial<Record<Method, string>> = roots
  ? {}
  : {
      list: JSON.stringify({ data: [], next_cursor: null, total: 0 }),
      search: JSON.stringify({ data: [], total: 0, is_at_least: false }),
      usage: JSON.stringify({ data: [] }),
    };
let watching: AbortController | undefined;

const tell = (message: FromReader): void => parentPort?.postMessage(message);

parentPort?.on("message", (message: ToReader) => {
  if (message.kind === "stop") running.get(message.id)?.abort();
  else if (message.kind === "ask") void answer(message);
  else if (!message.isOn) watching?.abort();
  else {
    watching?.abort();
    watching = new AbortController();
    void followFolders(library, watching.signal, (sessionId, change) => {
      whole.forget();
      tell({ kind: "changed", sessionId, change });
    });
  }
});

async function answer({ id, method, input }: Extract<ToReader, { kind: "ask" }>): Promise<void> {
  const stop = new AbortController();
  running.set(id, stop);
  try {
    // A search reads the transcripts of all sessions. Other questions need the translated transcripts of a few sessions
    // at most.
    await library.refresh(method === "search" ? "all" : "as-needed");
    const value = await questions[method](input, stop.signal);
    tell({ kind: "answer", id, value });
    if (method === "list" || method === "search") indexed.soon();
  } catch (error) {
    const value = isDataNotFoundError(error) ? EMPTY[method] : undefined;
    if (value !== undefined) tell({ kind: "answer", id, value });
    else if (!stop.signal.aborted) tell({ kind: "refused", id, ...refusalOf(error) });
  } finally {
    running.delete(id);
  }
}

function refusalOf(error: unknown): { readonly code: RefusalCode; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (isSessionNotFoundError(error)) return { code: "not_found", message: "There is no such session." };
  if (isWorkspaceNotFoundError(error)) return { code: "not_found", message: "No session belongs to this project." };
  if (isDataNotFoundError(error)) return { code: "not_found", message: "There are no sessions of coding agents here." };
  if (isQueryError(error)) return { code: "invalid", message: `q: ${message}` };
  if (isKnownError(error, "not_found", "invalid", "too_large")) return { code: error.code as RefusalCode, message };
  return { code: "bug", message: error instanceof Error ? (error.stack ?? message) : message };
}
