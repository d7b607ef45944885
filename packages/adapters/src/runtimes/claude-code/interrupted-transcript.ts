import type { CallState, SessionState } from "@skein/core";
import type { Content } from "@skein/protocol";
import { messageIdOf } from "./message-id.ts";
import { type Entry, type Transcript, blocksIn, uuidOf } from "./transcript.ts";

/**
 * Completes the transcript of an interrupted turn, in Claude Code's format, so that the SDK can continue the
 * conversation. Such a transcript has tool calls without a result. The SDK would drop the answer with these calls and
 * ask the model again, so calls that had begun would run twice. Reasons: decision 076 in docs/decisions.
 */

/** Returns a transcript entry with a result, for a tool call without a result. */
export function resultEntry(
  transcript: Transcript,
  { toolUseId, content, isError }: { readonly toolUseId: string; readonly content: string; readonly isError: boolean },
): Entry | undefined {
  const asking = entryAsking(transcript, toolUseId);
  if (!asking) return undefined;
  const result = { type: "tool_result", tool_use_id: toolUseId, content, ...(isError && { is_error: true }) };
  return {
    ...common(asking),
    type: "user",
    message: { role: "user", content: [result] },
    toolUseResult: isError ? `Error: ${content}` : content,
    sourceToolAssistantUUID: uuidOf(asking),
  };
}

/**
 * Returns a transcript entry that marks a tool call as waiting. When Claude Code resumes, it asks for permission again
 * and then runs the call.
 */
export function deferredEntry(transcript: Transcript, call: Pick<CallState, "toolUseId" | "name" | "input">) {
  const asking = entryAsking(transcript, call.toolUseId);
  if (!asking) return undefined;
  const attachment = {
    type: "hook_deferred_tool",
    toolUseID: call.toolUseId,
    toolName: call.name,
    toolInput: call.input,
    hookName: "skein",
    hookEvent: "PreToolUse",
    permissionMode: "default",
  };
  return { ...common(asking), type: "attachment", attachment } satisfies Entry;
}

/** Returns true if the transcript already marks the call as waiting. */
export function isDeferred(transcript: Transcript, toolUseId: string): boolean {
  return (transcript.get("") ?? []).some(
    (entry) =>
      entry.type === "attachment" &&
      (entry["attachment"] as { toolUseID?: unknown; type?: unknown }).type === "hook_deferred_tool" &&
      (entry["attachment"] as { toolUseID?: unknown }).toolUseID === toolUseId,
  );
}

/** Returns the result of a call, if the transcript has it. */
export function resultIn(transcript: Transcript, toolUseId: string) {
  for (const entry of transcript.get("") ?? [])
    for (const block of blocksIn(entry))
      if (block["type"] === "tool_result" && block["tool_use_id"] === toolUseId)
        return { toolUseId, content: (block["content"] ?? "") as Content, isError: block["is_error"] === true };
  return undefined;
}

/** Returns true if the transcript has this message. */
export function hasMessage(transcript: Transcript, uuid: string): boolean {
  return (transcript.get("") ?? []).some((entry) => uuidOf(entry) === uuid);
}

/**
 * Returns the part of the transcript from which a turn can continue. Leaves out answers that are not messages of the
 * session. Also leaves out the "continue" message of a resumed process, because the SDK would then wait for a prompt.
 */
export function soundPart(transcript: Transcript, state: SessionState): Transcript {
  const entries = transcript.get("") ?? [];
  const prompt = entries.findIndex((entry) => uuidOf(entry) === state.run?.prompt.message_id);
  const said = new Set(state.transcript.map(({ id }) => id));
  const left = new Set<string>();
  const isLeft = (entry: Entry): boolean =>
    left.has(String(entry["parentUuid"])) || left.has(String(entry["leafUuid"]));
  for (const [index, entry] of entries.entries()) {
    const { id } = (entry["message"] ?? {}) as { readonly id?: string };
    const isUnheard = index > prompt && entry.type === "assistant" && !said.has(messageIdOf(state.sessionId, id ?? ""));
    if (isUnheard || isLeft(entry)) left.add(uuidOf(entry) ?? "");
  }
  for (const entry of entries.toReversed()) {
    if (left.has(uuidOf(entry) ?? "") || (entry.type !== "user" && entry.type !== "assistant")) continue;
    if (entry["isMeta"] !== true) break;
    left.add(uuidOf(entry) ?? "");
  }
  const kept: Entry[] = [];
  for (const entry of entries) {
    if (isLeft(entry)) left.add(uuidOf(entry) ?? "");
    const uuid = uuidOf(entry);
    if (uuid === undefined ? !isLeft(entry) : !left.has(uuid)) kept.push(entry);
  }
  return new Map([...transcript, ["", kept]]);
}

function entryAsking(transcript: Transcript, toolUseId: string): Entry | undefined {
  return (transcript.get("") ?? []).find(
    (entry) =>
      entry.type === "assistant" &&
      blocksIn(entry).some((block) => block["type"] === "tool_use" && block["id"] === toolUseId),
  );
}

/** Returns the fields that every entry needs, copied from the previous entry. */
function common(after: Entry) {
  const { userType, entrypoint, cwd, sessionId, version, gitBranch } = after;
  return {
    parentUuid: uuidOf(after) ?? null,
    isSidechain: false,
    uuid: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    userType,
    entrypoint,
    cwd,
    sessionId,
    version,
    gitBranch,
  };
}
