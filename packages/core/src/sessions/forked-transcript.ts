import {
  type Content,
  type Event,
  type Fact,
  type JsonObject,
  type Message,
  blocksOf,
  isToolUse,
} from "@skein/protocol";
import { transcriptAppended } from "../run/facts/index.ts";

/** A line of a Claude Code transcript. */
type Entry = JsonObject;

export interface ForkedTranscriptDeps {
  readonly parentId: string;
  readonly forkId: string;
  readonly title: string | null;
  readonly newUuid: () => string;
  readonly now: () => number;
}

/** The Claude Code transcript of a fork. */
export interface ForkedTranscript {
  readonly entries: readonly Entry[];
  /** The new uuid of each copied entry, by old uuid. A message with an old uuid as its id gets the new uuid. */
  readonly uuids: ReadonlyMap<string, string>;
}

/**
 * Returns the entries of the session's Claude Code transcript, in the order of writing. Transcripts of subagents are
 * left out.
 */
export function entriesOf(events: readonly Event[]): readonly Entry[] {
  return events.flatMap((event) =>
    event.event_type === "transcript.appended" && event.data.subpath === null ? event.data.entries : [],
  );
}

/** The most entries in a fact, so that facts do not grow with the session. */
const ENTRIES_OF_A_FACT = 200;

/** Makes the facts that contain these entries. */
export function transcriptFacts(entries: readonly Entry[], subpath: string | null): readonly Fact[] {
  const facts: Fact[] = [];
  for (let at = 0; at < entries.length; at += ENTRIES_OF_A_FACT)
    facts.push(transcriptAppended(entries.slice(at, at + ENTRIES_OF_A_FACT), subpath));
  return facts;
}

/**
 * Copies the parent's entries up to the last message of `kept`, as the SDK of Claude Code does. Every uuid is new,
 * links use the new uuids, and each entry names its origin. Entries that concern only the parent are left out (costs,
 * checkpoints, subagents). `kept` are the messages that the fork keeps, and `later` are the messages after them in the
 * parent. If `later` is null, the whole parent is copied, including a compaction after the last message. `closing` has
 * the results for open calls.
 */
export function forkedTranscript(
  entries: readonly Entry[],
  messages: {
    readonly kept: readonly Message[];
    readonly later: readonly Message[] | null;
    readonly closing: Content | null;
  },
  deps: ForkedTranscriptDeps,
): ForkedTranscript {
  const { kept, later, closing } = messages;
  const said = entries.filter(isSaid);
  const cut = later ? lastEntryOf(said, kept.at(-1), later) : said.length - 1;
  // The transcript may already have results of the open calls. They belong to a message that the fork does not keep.
  const open = new Set(closing === null ? [] : resultIds(closing));
  const taken = said.slice(0, cut + 1).filter((entry) => !resultIds(contentOf(entry)).some((id) => open.has(id)));
  const copied = taken.filter(({ type }) => type !== "progress");
  if (copied.length === 0) return { entries: [], uuids: new Map() };

  const { parentId, forkId, newUuid } = deps;
  const uuids = new Map(copied.map((entry) => [uuidOf(entry), newUuid()]));
  const parents = new Map(said.map((entry) => [uuidOf(entry), entry["parentUuid"]]));
  const at = new Date(deps.now()).toISOString();
  const copies = copied.map((entry, index): Entry => ({
    ...renamedEntry(entry, uuids),
    ...NOT_OF_A_FORK,
    uuid: uuids.get(uuidOf(entry)),
    parentUuid: keptParent(entry["parentUuid"], parents, uuids),
    sessionId: forkId,
    // Claude Code continues from the newest leaf of the tree, so the last copied entry gets the newest time.
    ...(index === copied.length - 1 && { timestamp: at }),
    forkedFrom: { sessionId: parentId, messageUuid: uuidOf(entry) },
  }));
  const last = copies.at(-1);
  const about = entries.filter(isCarried).map((entry): Entry => ({ ...entry, sessionId: forkId }));
  const named: Entry[] =
    deps.title === null
      ? []
      : [{ type: "custom-title", sessionId: forkId, customTitle: deps.title, uuid: newUuid(), timestamp: at }];
  const end = closing === null || !last ? [] : [closed(last, { closing, uuid: newUuid(), at })];
  return { entries: [...copies, ...end, ...about, ...named], uuids };
}

/** Entries of the conversation, which are linked by uuids. */
const SAID: ReadonlySet<unknown> = new Set(["user", "assistant", "attachment", "system", "progress"]);

/** Entries about the whole session that a fork needs too. */
const CARRIED: ReadonlySet<unknown> = new Set([
  "content-replacement",
  "history-suppression",
  "atis-latch",
  "tools-used",
  "data-flow-records",
  "data-flow-incomplete",
  "derived-from",
  "relocated",
]);

/** Fields that concern only the parent. A fork has these values instead; undefined removes a field. */
const NOT_OF_A_FORK: Entry = {
  isSidechain: false,
  teamName: undefined,
  agentName: undefined,
  sessionKind: undefined,
  slug: undefined,
  sourceToolAssistantUUID: undefined,
  turnAttributionKey: undefined,
};

function isSaid(entry: Entry): boolean {
  return SAID.has(entry["type"]) && typeof entry["uuid"] === "string" && entry["isSidechain"] !== true;
}

function isCarried(entry: Entry): boolean {
  return CARRIED.has(entry["type"]);
}

/**
 * Returns where a message ends in the transcript. If no entry belongs to the message, it ends before the next message
 * with an entry.
 */
function lastEntryOf(said: readonly Entry[], message: Message | undefined, later: readonly Message[]): number {
  if (!message) return -1;
  const own = placesOf(said, message).at(-1);
  if (own !== undefined) return own;
  const next = later.map((following) => placesOf(said, following)[0]).find((place) => place !== undefined);
  return said.slice(0, next).findLastIndex(({ type }) => type === message.role);
}

/**
 * Returns the indexes of a message's entries. Such an entry has the id or a call of the message, or is part of the same
 * answer.
 */
function placesOf(said: readonly Entry[], message: Message): readonly number[] {
  const calls = new Set([...callIds(message.content), ...resultIds(message.content)]);
  const isOwn = (entry: Entry): boolean =>
    entry["uuid"] === message.id ||
    // The entry of a prompt that arrived in the middle of a turn has the id of the prompt only in `attachment`.
    (entry["attachment"] as JsonObject | undefined)?.["source_uuid"] === message.id ||
    (entry["type"] === message.role &&
      [...callIds(contentOf(entry)), ...resultIds(contentOf(entry))].some((id) => calls.has(id)));
  const answers = new Set(said.filter(isOwn).flatMap(answerOf));
  return said.flatMap((entry, place) => (isOwn(entry) || answerOf(entry).some((id) => answers.has(id)) ? [place] : []));
}

/** The id that the Messages API gave to the answer of an entry. */
function answerOf(entry: Entry): readonly string[] {
  const id = entry["type"] === "assistant" ? (entry["message"] as JsonObject | undefined)?.["id"] : undefined;
  return typeof id === "string" ? [id] : [];
}

function contentOf(entry: Entry): Content {
  const content = (entry["message"] as JsonObject | undefined)?.["content"];
  return typeof content === "string" || Array.isArray(content) ? (content as Content) : "";
}

function callIds(content: Content): readonly string[] {
  return blocksOf(content)
    .filter(isToolUse)
    .map(({ id }) => id);
}

function resultIds(content: Content): readonly string[] {
  return blocksOf(content).flatMap((block) =>
    block.type === "tool_result" && typeof block["tool_use_id"] === "string" ? [block["tool_use_id"]] : [],
  );
}

function uuidOf(entry: Entry): string {
  return entry["uuid"] as string;
}

/** Finds the nearest ancestor that was copied. */
function keptParent(
  uuid: unknown,
  parents: ReadonlyMap<string, unknown>,
  uuids: ReadonlyMap<string, string>,
): string | null {
  const seen = new Set<unknown>();
  for (let at = uuid; typeof at === "string" && !seen.has(at); at = parents.get(at)) {
    const copy = uuids.get(at);
    if (copy !== undefined) return copy;
    seen.add(at);
  }
  return null;
}

/** Renames the uuids inside an entry, for example of a compaction or a queued prompt. Content is not changed. */
export function renamedEntry(entry: Entry, uuids: ReadonlyMap<string, string>): Entry {
  const inside = (value: unknown): unknown => {
    if (typeof value === "string") return uuids.get(value) ?? value;
    if (Array.isArray(value)) return value.map(inside);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner)]));
  };
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [
      key,
      key === "message" || key === "toolUseResult" ? value : inside(value),
    ]),
  );
}

/** Makes an entry with the results of the open calls. It follows the last entry. */
function closed(last: Entry, { closing, uuid, at }: { closing: Content; uuid: string; at: string }): Entry {
  const { uuid: parentUuid, cwd, version, gitBranch, userType, entrypoint, sessionId } = last;
  return {
    parentUuid,
    isSidechain: false,
    type: "user",
    message: { role: "user", content: closing },
    uuid,
    timestamp: at,
    userType,
    entrypoint,
    cwd,
    sessionId,
    version,
    gitBranch,
  };
}
