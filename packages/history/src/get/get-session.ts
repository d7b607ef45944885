import type { LibraryConfig } from "../config.ts";
import type { DataFile } from "../model/data-file.ts";
import { SessionNotFoundError } from "../errors.ts";
import type { FacetStore } from "../facets/facet.ts";
import { discoverUnread } from "../sources/discover.ts";
import { agentsBySession } from "../sources/claude-code/agents/agent-files.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions, readDetails, summarise, summaryOf, withLines, type SessionOrder } from "../list/sessions.ts";
import type { Message, Session, SessionSummary } from "../model/types.ts";
import { isCompactBoundary, thread } from "../sources/claude-code/transcript/thread.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import type { SourceName } from "../sources/port/source.ts";
import { firstPromptOf } from "../sources/claude-code/agents/agent-prompt.ts";
import { readTranscript } from "../sources/claude-code/transcript/read-transcript.ts";

export interface GetSessionOptions extends LibraryConfig {
  /** Only the messages that `activeMessages` returns. */
  readonly activeOnly?: boolean;
}

/** Reads a whole session. Finds it by its index in the list, its id, or the beginning of its id. */
export async function getSession(idOrIndex: number | string, config: GetSessionOptions = {}): Promise<Session> {
  return await withStore(config, async (store) => {
    const { file, order } = await findSession(idOrIndex, config, store);
    return await readSession(file, order, config, store);
  });
}

/** Reads the data of a session that a list shows. */
export async function getSummary(idOrIndex: number | string, config: LibraryConfig = {}): Promise<SessionSummary> {
  return await withStore(config, async (store) => {
    const { file, order } = await findSession(idOrIndex, config, store);
    const [summary] = await summarise([file], order, config, store);
    if (!summary) throw unreadable(file);
    return summary;
  });
}

/**
 * Returns the coding agents that have a session whose id is or begins with `id`. If several agents have this session,
 * other functions use the session that was active last. Empty if several ids begin with `id`.
 */
export function agentsWithSession(id: string, config: LibraryConfig = {}): readonly SourceName[] {
  const wanted = id.trim().toLowerCase();
  const files = discoverUnread(config).files.filter(({ kind }) => kind === "session");
  const exact = files.filter((file) => file.sessionId?.toLowerCase() === wanted);
  const found = exact.length > 0 ? exact : files.filter((file) => file.sessionId?.toLowerCase().startsWith(wanted));
  const ids = new Set(found.map(({ sessionId }) => sessionId?.toLowerCase()));
  return ids.size === 1 ? [...new Set(found.map(({ root }) => sourceOfRoot(root)))] : [];
}

export interface FoundSession {
  readonly file: DataFile;
  readonly order: SessionOrder;
}

/** Finds the file of a session. Throws if several ids begin with the given text. */
export async function findSession(
  idOrIndex: number | string,
  config: LibraryConfig,
  store: FacetStore,
): Promise<FoundSession> {
  const order = await orderSessions(config, store, discoverUnread(config));
  const found = chooseSession(idOrIndex, order) ?? (await refuseAmbiguous(idOrIndex, order, config, store));
  // The lines of the session and of its subagents are translated together.
  const agents = agentsBySession(order.discovered.files, [found]).get(found) ?? [];
  const [file = found, ...agentFiles] = await withLines([found, ...agents], config);
  const made = new Map(agentFiles.map((each) => [each.path, each]));
  const files = order.discovered.files.map((each) => (each === found ? file : (made.get(each.path) ?? each)));
  const ordered = order.files.map((each) => (each === found ? file : each));
  return { file, order: { ...order, files: ordered, discovered: { ...order.discovered, files } } };
}

/** Chooses a session by its index, its id or the beginning of its id. Returns undefined if several ids fit. */
function chooseSession(idOrIndex: number | string, order: SessionOrder): DataFile | undefined {
  if (typeof idOrIndex === "number") {
    const file = order.files[idOrIndex];
    if (!file)
      throw new SessionNotFoundError(
        idOrIndex,
        order.files.length === 0
          ? "There are no sessions, so no index is valid"
          : `There is no session with this index (0 to ${order.files.length - 1})`,
      );
    return file;
  }
  const wanted = idOrIndex.trim().toLowerCase();
  const exact = order.files.find((file) => file.sessionId?.toLowerCase() === wanted);
  if (exact) return exact;
  const matches = startingWith(wanted, order);
  if (matches.length === 0) throw new SessionNotFoundError(idOrIndex);
  return matches.length === 1 ? matches[0] : undefined;
}

/** Finds the sessions whose id begins with `wanted`, newest first. If files have the same id, only the first counts. */
function startingWith(wanted: string, { files }: SessionOrder): readonly DataFile[] {
  if (wanted === "") return [];
  const byId = new Map<string, DataFile>();
  for (const file of files) {
    const id = file.sessionId?.toLowerCase();
    if (id?.startsWith(wanted) && !byId.has(id)) byId.set(id, file);
  }
  return [...byId.values()];
}

/** The error for an ambiguous id lists at most this number of sessions. */
const MOST_CANDIDATES = 5;

async function refuseAmbiguous(
  id: number | string,
  order: SessionOrder,
  config: LibraryConfig,
  store: FacetStore,
): Promise<never> {
  const matches = startingWith(String(id).trim().toLowerCase(), order);
  const named = await summarise(matches.slice(0, MOST_CANDIDATES), order, config, store);
  const more = matches.length - named.length;
  throw new SessionNotFoundError(id, `${matches.length} sessions begin with this id`, [
    ...named.map(({ id: candidate, summary }) => `  ${candidate}  ${summary?.slice(0, 100) ?? "(no title)"}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]);
}

export async function readSession(
  file: DataFile,
  order: SessionOrder,
  config: GetSessionOptions,
  store: FacetStore,
): Promise<Session> {
  if (!order.details.has(file)) await readDetails([file], order.details, config, store);
  const details = order.details.get(file);
  if (!details) throw unreadable(file);
  const agentFiles = agentsBySession(order.discovered.files, [file]).get(file) ?? [];
  const transcript = readTranscript(file.path, new Date(file.mtimeMs));
  const threaded = thread(transcript.messages);
  const { linkAgents } = await import("../sources/claude-code/agents/link-agents.ts");
  const agents = linkAgents(file.sessionId ?? "", transcript.messages, agentFiles, firstPromptOf);
  return {
    ...summaryOf(file, details, agentFiles, config),
    agentIds: agents.map(({ agentId }) => agentId),
    messages: config.activeOnly ? activeMessages(threaded.messages) : threaded.messages,
    agents,
    branches: threaded.branches,
    damage: transcript.damage,
  };
}

function unreadable(file: DataFile): SessionNotFoundError {
  return new SessionNotFoundError(file.sessionId ?? "", "The session cannot be read");
}

/**
 * Returns the messages of the active thread: no rewound branches, no side chains, and no messages before a compaction.
 * If the last compaction has no readable summary, the messages before it stay.
 */
export function activeMessages(messages: readonly Message[]): readonly Message[] {
  const boundary = messages.findLastIndex(isCompactBoundary);
  const hasSummary = messages.slice(boundary + 1).some(({ raw }) => raw["isCompactSummary"] === true);
  return messages.filter(({ isActive, isCompacted }) => isActive || (isCompacted && !hasSummary));
}
