import type { AgentConfig, ContentBlock, Fact, Message } from "@skein/protocol";
import { estimateTokens } from "../estimate-tokens.ts";
import type { MemoryStore } from "../ports.ts";
import { type RunState, type SessionState, contextOf } from "../state.ts";
import { hasResults } from "./doctor.ts";

type Turn = Omit<Message, "id">;
type Compactor = (messages: readonly Turn[], target: number) => readonly Turn[];

const REMOVED = "[Tool result removed during compaction]";
/** Turns at the end that are left as they are. */
const KEPT_TURNS = 6;
/** Results longer than this are cut before anything is dropped. */
const CUT_AT = 2000;

/** What each compactor does to a conversation that has grown too long. None breaks a pair of call and result. */
const COMPACTORS: Readonly<Record<AgentConfig["compactor_type"], Compactor>> = {
  none: (messages) => messages,
  summarize: (messages) => messages,
  tool_result_removal: (messages) => editOld(messages, withoutResults),
  sliding_window: slidingWindow,
};

/** A check before a model call: below the threshold it leaves its reason, above it what the model is shown from then on. */
export async function compact(
  state: SessionState,
  current: RunState,
  deps: { readonly memory: MemoryStore | undefined; readonly now: () => number },
): Promise<readonly Fact[]> {
  const agent = state.agent as AgentConfig;
  const started = deps.now();
  const threshold = agent.compaction_threshold;
  if (state.contextTokens <= threshold)
    return [checked(state, { reason: "below_threshold", messages: null, durationMs: 0 })];
  const before = contextOf(state);
  const messages = COMPACTORS[agent.compactor_type](before, Math.floor(threshold * 0.7));
  const tokens = estimateTokens(messages);
  if (tokens >= estimateTokens(before))
    return [checked(state, { reason: "nothing_to_remove", messages: null, durationMs: 0 })];
  const inStep = { run_id: current.runId, step: current.step };
  const type = deps.memory?.type ?? "none";
  const saved = deps.memory && (await deps.memory.beforeCompaction(state));
  const fact = checked(state, { reason: "above_threshold", messages, durationMs: Math.max(0, deps.now() - started) });
  const restored = deps.memory && (await deps.memory.afterCompaction(state));
  return [
    ...(saved
      ? [
          {
            event_type: "memory.saved",
            data: { ...inStep, memory_store_type: type, duration_ms: 0, details: saved },
          } satisfies Fact,
        ]
      : []),
    fact,
    ...(restored
      ? [
          {
            event_type: "memory.restored",
            data: { ...inStep, memory_store_type: type, duration_ms: 0, details: restored },
          } satisfies Fact,
        ]
      : []),
  ];
}

/** The conversation goes on from the first prompt and the model's own summary. */
export function compactedBySummary(state: SessionState, summary: string, durationMs: number): Fact {
  const [first] = state.transcript;
  const context = contextOf(state);
  const last = context.at(-1);
  const messages: Turn[] = [
    ...(first ? [{ role: "user" as const, content: first.content }] : []),
    { role: "assistant", content: [{ type: "text", text: summary || "(no summary)" }] },
    // The model must have the user's word last; a result without its call cannot be it.
    last?.role === "user" && !hasResults(last)
      ? { role: "user", content: last.content }
      : { role: "user", content: "Go on." },
  ];
  return checked(state, { reason: "above_threshold", messages, durationMs });
}

function checked(
  state: SessionState,
  { reason, messages, durationMs }: { reason: string; messages: readonly Turn[] | null; durationMs: number },
): Fact {
  const agent = state.agent as AgentConfig;
  return {
    event_type: "compaction.checked",
    data: {
      run_id: state.run?.runId ?? "",
      step: state.run?.step ?? 0,
      messages_count: contextOf(state).length,
      estimated_tokens: state.contextTokens,
      duration_ms: durationMs,
      applied: messages !== null,
      reason,
      compactor_type: agent.compactor_type,
      current_tokens: state.contextTokens,
      threshold: agent.compaction_threshold,
      tokens_after: messages === null ? state.contextTokens : estimateTokens(messages),
      messages: messages === null ? null : messages.map(({ role, content }) => ({ role, content })),
    },
  };
}

/** Step by step until it fits: without thinking, with shorter results, without results, without old turns. */
function slidingWindow(messages: readonly Turn[], target: number): readonly Turn[] {
  let left = messages;
  for (const edit of [withoutThinking, withShortResults, withoutResults]) {
    left = editOld(left, edit);
    if (estimateTokens(left) <= target) return left;
  }
  return withoutOldTurns(left, target);
}

/** Changes the blocks of everything but the last turns. */
function editOld(messages: readonly Turn[], edit: (block: ContentBlock) => ContentBlock | undefined): readonly Turn[] {
  const from = Math.max(0, messages.length - KEPT_TURNS);
  return messages.map((message, index) => {
    if (index >= from || typeof message.content === "string") return message;
    const content = message.content.flatMap((block) => edit(block) ?? []);
    return {
      ...message,
      content: content.length > 0 ? content : [{ type: "text", text: "(removed during compaction)" }],
    };
  });
}

function withoutThinking(block: ContentBlock): ContentBlock | undefined {
  return block.type === "thinking" || block.type === "redacted_thinking" ? undefined : block;
}

function withShortResults(block: ContentBlock): ContentBlock {
  if (block.type !== "tool_result" || typeof block["content"] !== "string" || block["content"].length <= CUT_AT)
    return block;
  return { ...block, content: `${block["content"].slice(0, CUT_AT).toWellFormed()}\n[Shortened during compaction]` };
}

function withoutResults(block: ContentBlock): ContentBlock {
  return block.type === "tool_result" ? { ...block, content: REMOVED } : block;
}

/** Keeps the first message and as many of the last as fit, beginning with a user's word that is no result. */
function withoutOldTurns(messages: readonly Turn[], target: number): readonly Turn[] {
  const [first, ...rest] = messages;
  if (!first) return messages;
  const starts = rest.flatMap((message, index) => (message.role === "user" && !hasResults(message) ? [index] : []));
  for (const start of starts) {
    const kept = [first, ...rest.slice(start)];
    if (estimateTokens(kept) <= target) return kept;
  }
  const lastStart = starts.at(-1);
  return lastStart === undefined ? messages : [first, ...rest.slice(lastStart)];
}
