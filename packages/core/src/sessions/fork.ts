import {
  type AgentConfig,
  type Content,
  type ContentBlock,
  type Event,
  type Fact,
  type Ids,
  type JsonObject,
  KnownError,
  Line,
  type Message,
  blocksOf,
  isToolUse,
} from "@skein/protocol";
import { entriesOf, forkedTranscript, transcriptFacts } from "./forked-transcript.ts";
import { parseInput } from "./parse-input.ts";
import { messageCopied, sessionCreated } from "./session-facts.ts";
import type { SessionState } from "../log/state.ts";

const NOT_CARRIED_OVER = "This call was still open when the session was forked; its outcome is not carried over.";

/** How a fork differs from its parent. */
export interface ForkOptions {
  /** The last message that the fork keeps. Default: the last message of the parent. */
  readonly messageId?: string;
  readonly title?: string;
  readonly id?: string;
  /**
   * Changes the configuration of the fork. `inherited` is the configuration of the parent, with the model and the
   * permission mode that were set later.
   */
  readonly agent?: (inherited: AgentConfig) => AgentConfig;
  readonly metadata?: JsonObject;
  readonly tags?: readonly string[];
  /** The name of the API key that creates the fork. */
  readonly openedBy?: string;
}

export interface ForkDeps {
  readonly now: () => number;
  readonly ids: Ids;
}

/**
 * Makes the facts with which a fork begins. They contain the transcript up to a message, with a result for every call.
 * For a Claude Code session, they also contain the transcript of Claude Code, so that the fork does not need the files
 * of the parent. Reasons: docs/decisions/009-forks-copy-messages.md.
 */
export function forkFacts(
  parent: SessionState,
  log: readonly Event[],
  options: ForkOptions,
  { now, ids }: ForkDeps,
): { readonly id: string; readonly facts: readonly Fact[] } {
  const { agent } = parent;
  if (!agent) throw new KnownError("not_found", `There is no session ${parent.sessionId}.`);
  const { id = ids(), agent: change = (config) => config, metadata = parent.metadata } = options;
  const title = options.title === undefined ? parent.title : parseInput(Line.max(255), options.title);
  const kept = keptMessages(parent, options.messageId);
  const closing = closingOf(kept.at(-1));
  // Only an idle session is copied whole: during a run, the transcript may have entries of an incomplete answer.
  const isWhole = options.messageId === undefined && parent.run === null && closing === null;
  const transcript = forkedTranscript(
    entriesOf(log),
    { kept, later: isWhole ? null : parent.transcript.slice(kept.length), closing },
    { parentId: parent.sessionId, forkId: id, title, newUuid: ids, now },
  );
  const messages = [...kept, ...(closing ? [{ id: "", role: "user" as const, content: closing }] : [])];
  const created = sessionCreated({
    tenant: parent.tenant,
    agent_id: parent.agentId,
    agent_version: parent.agentVersion,
    agent: change(withControl(agent, parent.control)),
    title,
    tags: [...(options.tags ?? parent.tags)],
    model_id: parent.modelId,
    working_directory: parent.workingDirectory,
    metadata,
    parent: { session_id: parent.sessionId, sequence: parent.sequence },
    ...(options.openedBy !== undefined && { opened_by: options.openedBy }),
  });
  const copies = messages.map(({ id: old, role, content }) =>
    messageCopied({ message_id: transcript.uuids.get(old) ?? ids(), role, content }),
  );
  return { id, facts: [created, ...transcriptFacts(transcript.entries, null), ...copies] };
}

function keptMessages({ sessionId, transcript }: SessionState, messageId?: string): readonly Message[] {
  if (messageId === undefined) return transcript;
  const end = transcript.findIndex(({ id }) => id === messageId);
  if (end === -1)
    throw new KnownError("not_found", `Session ${sessionId} has no message ${messageId} in its transcript.`);
  return transcript.slice(0, end + 1);
}

/** Makes results for the open calls of the last message. Null if no call is open. */
function closingOf(last: Message | undefined): Content | null {
  if (last?.role !== "assistant") return null;
  const open = blocksOf(last.content).filter(isToolUse);
  return open.length === 0 ? null : open.map(({ id }) => closed(id));
}

function closed(toolUseId: string): ContentBlock {
  return { type: "tool_result", tool_use_id: toolUseId, content: NOT_CARRIED_OVER, is_error: true };
}

/** Returns the configuration with the session's `control` changes, because a fork must not undo a restriction. */
function withControl(agent: AgentConfig, { permissionMode, model }: SessionState["control"]): AgentConfig {
  if (permissionMode === null && model === null) return agent;
  const switched = {
    ...(permissionMode !== null && { permission_mode: permissionMode }),
    ...(model !== null && { model }),
  };
  const claude = agent.runtime === "claude-code" && { claude: { ...(agent.extras["claude"] as object), ...switched } };
  return { ...agent, ...(model !== null && { model }), extras: { ...agent.extras, ...claude } };
}
