/** Sessions ordered by newest activity. Every function that takes an index or an id uses this order. */
import type { LibraryConfig } from "../config.ts";
import type { DataFile, Discovered } from "../model/data-file.ts";
import { discover } from "../sources/discover.ts";
import { WorkspaceNotFoundError } from "../errors.ts";
import { foldFiles } from "../facets/fold-files.ts";
import type { FacetStore } from "../facets/facet.ts";
import type { SessionSummary } from "../model/types.ts";
import { lastMessageTime } from "../sources/claude-code/details/last-activity.ts";
import { agentsBySession, type AgentFiles } from "../sources/claude-code/agents/agent-files.ts";
import { createPause } from "../scan/pause.ts";
import { isSamePath } from "../model/same-path.ts";
import { projectPathOf } from "../sources/claude-code/details/project-path.ts";
import {
  lastTimeIn,
  listedDetails,
  sessionDetailsFacet,
  type SessionDetails,
} from "../sources/claude-code/details/session-details.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import { createTitles } from "../sources/claude-code/details/title.ts";

export interface SessionOrder {
  readonly discovered: Discovered;
  /** Main transcripts, newest activity first. */
  readonly files: readonly DataFile[];
  /** Details of the files that were read for a filter or a page. Others are read when needed. */
  readonly details: Map<DataFile, SessionDetails>;
  /** Encoded details from the index. A list decodes only the details of a few files. */
  readonly saved: ReadonlyMap<DataFile, Uint8Array>;
  /**
   * Orders the sessions again after more details were read. Returns false if no time has changed.
   */
  correct(): boolean;
}

/** Finds and orders the sessions. Without `workspace` and `until`, only the ends of the files are read. */
export async function orderSessions(
  config: LibraryConfig,
  store: FacetStore,
  discovered = discover(config),
): Promise<SessionOrder> {
  let files = discovered.files.filter((file) => file.kind === "session" && mayBeOf(file, config.workspace));
  const details = new Map<DataFile, SessionDetails>();
  const saved = new Map<DataFile, Uint8Array>();
  const activity = new Map<DataFile, number>();
  if (config.workspace !== undefined || config.until !== undefined) {
    files = await withLines(files, config);
    await readDetails(files, details, config, store);
    files = files.filter((file) => details.has(file));
    if (config.workspace !== undefined) files = ofWorkspace(files, details, config.workspace);
    if (config.until !== undefined) files = files.filter((file) => startOf(file, details) < Number(config.until));
  } else {
    const rows = store.load(sessionDetailsFacet);
    for (const file of files) {
      const known = rows.get(file.path);
      const isSame = known?.size === file.size && known.mtimeMs === file.mtimeMs && known.offset === known.size;
      if (isSame && known.inode === file.inode && file.origin?.hasLines !== false) saved.set(file, known.data);
    }
  }
  for (const file of files) {
    const known = saved.get(file);
    const last = known ? lastTimeIn(known) : details.get(file)?.lastTime;
    const time = last === undefined ? (file.origin?.lastMs ?? lastMessageTime(file)) : last && Date.parse(last);
    if (time) activity.set(file, time);
  }
  // A file without messages has no last activity. Its time comes from its details.
  for (const [file, data] of saved) if (!activity.has(file)) details.set(file, listedDetails(data));
  const newest = (file: DataFile): number => activity.get(file) ?? otherTime(file, details);
  if (config.since !== undefined) files = files.filter((file) => newest(file) >= Number(config.since));
  // A file without messages comes last. Its only time may be the time of a copy, and so the newest time of all.
  const rank = (file: DataFile): number => (activity.has(file) ? 0 : 1);
  const sort = (): void =>
    void files.sort((a, b) => rank(a) - rank(b) || newest(b) - newest(a) || (a.path < b.path ? -1 : 1));
  sort();
  const correct = (): boolean => {
    const read = new Map([...details].map(([{ path }, found]) => [path, found]));
    let isChanged = false;
    for (const file of files) {
      const found = read.get(file.path);
      if (!found || file.origin?.hasLines !== false) continue;
      const time = found.lastTime === null ? undefined : Date.parse(found.lastTime);
      if (time === activity.get(file)) continue;
      isChanged = true;
      details.set(file, found);
      if (time === undefined) activity.delete(file);
      else activity.set(file, time);
    }
    if (isChanged) sort();
    return isChanged;
  };
  return { discovered, files, details, saved, correct };
}

/**
 * Returns false if the session belongs to another project. Returns true if this is known only after the lines are read.
 */
function mayBeOf({ origin }: DataFile, workspace: string | undefined): boolean {
  return workspace === undefined || !origin || origin.cwd === null || isSamePath(origin.cwd, workspace);
}

/**
 * Translates the lines of other agents' sessions into Claude Code's format, where this was not done yet. Returns all
 * files in the same order.
 */
export async function withLines(files: readonly DataFile[], config: LibraryConfig): Promise<DataFile[]> {
  const missing = files.filter(({ origin }) => origin?.hasLines === false);
  if (missing.length === 0) return [...files];
  const made = new Map<string, DataFile>();
  for (const root of new Set(missing.map((file) => file.root))) {
    const mirror = config.mirrors?.get(root);
    const paths = new Set(missing.flatMap((file) => (file.root === root ? [file.path] : [])));
    await mirror?.translate(paths, { signal: config.signal });
    for (const file of mirror?.files() ?? []) if (paths.has(file.path)) made.set(file.path, file);
  }
  return files.map((file) => made.get(file.path) ?? file);
}

/** Makes the summaries of some files. A file that cannot be read is left out. */
export async function summarise(
  chosen: readonly DataFile[],
  order: SessionOrder,
  config: LibraryConfig,
  store: FacetStore,
): Promise<readonly SessionSummary[]> {
  const files = await withLines(chosen, config);
  for (const file of files) {
    const data = order.details.has(file) ? undefined : order.saved.get(file);
    if (data) order.details.set(file, listedDetails(data));
  }
  const missing = files.filter((file) => !order.details.has(file));
  await readDetails(missing, order.details, config, store);
  const agents = agentsBySession(order.discovered.files, files);
  const titles = config.titles ?? createTitles();
  const pause = createPause(config.signal);
  const summaries: SessionSummary[] = [];
  for (const file of files) {
    const details = order.details.get(file);
    if (details) summaries.push(summaryOf(file, details, agents.get(file) ?? [], { ...config, titles }));
    await pause();
  }
  return summaries;
}

export async function readDetails(
  files: readonly DataFile[],
  into: Map<DataFile, SessionDetails>,
  config: LibraryConfig,
  store: FacetStore,
): Promise<void> {
  if (files.length === 0) return;
  const { folded } = await foldFiles(sessionDetailsFacet, files, { store, signal: config.signal });
  for (const { file, state } of folded) into.set(file, state);
}

function ofWorkspace(files: DataFile[], details: ReadonlyMap<DataFile, SessionDetails>, workspace: string): DataFile[] {
  const found = files.filter((file) => {
    const known = details.get(file);
    return known !== undefined && isSamePath(projectPathOf(known, file.encodedPath).projectPath, workspace);
  });
  if (found.length === 0) throw new WorkspaceNotFoundError(workspace);
  return found;
}

/** Returns the time of a file without messages. */
function otherTime(file: DataFile, details: ReadonlyMap<DataFile, SessionDetails>): number {
  return Number(dateOr(details.get(file)?.otherTime ?? null, new Date(file.mtimeMs)));
}

function startOf(file: DataFile, details: ReadonlyMap<DataFile, SessionDetails>): number {
  const time = details.get(file)?.firstTime;
  return time ? Date.parse(time) : otherTime(file, details);
}

export function summaryOf(
  file: DataFile,
  details: SessionDetails,
  agents: AgentFiles,
  config: LibraryConfig,
): SessionSummary {
  const { titles = createTitles(), archived = [] } = config;
  const modified = dateOr(details.otherTime, new Date(file.mtimeMs));
  return {
    id: file.sessionId ?? "",
    source: sourceOfRoot(file.root),
    ...projectPathOf(details, file.encodedPath),
    encodedPath: file.encodedPath,
    summary: titles.of(file, details),
    timestamp: dateOr(details.firstTime, modified),
    lastActivityAt: dateOr(details.lastTime, modified),
    messageCount: details.messageCount,
    agentIds: agents.flatMap(({ agentId }) => agentId ?? []),
    version: details.version,
    gitBranch: details.gitBranch,
    path: file.path,
    sizeBytes: file.size,
    isArchived: archived.includes(file.root),
  };
}

function dateOr(text: string | null, fallback: Date): Date {
  const date = text === null ? fallback : new Date(text);
  return Number.isNaN(date.getTime()) ? fallback : date;
}
