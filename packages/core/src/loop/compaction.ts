import {
  type AgentConfig,
  type ContentBlock,
  type Fact,
  type JsonObject,
  type Message,
  blocksOf,
} from "@skein/protocol";
import { estimateTokens } from "../log/estimate-tokens.ts";
import type { AgentMemory } from "../ports/agent-memory.ts";
import { compactionChecked, memoryRestored, memorySaved } from "../run/facts/index.ts";
import { type RunState, type SessionState, contextOf } from "../log/state.ts";
import { MEMORY_ANSWERS, askMemory } from "./ask-memory.ts";
import type { ModelCatalog } from "../ports/model.ts";
import { modelOf, outputLimit } from "./request.ts";
import { hasResults } from "./tool-pairs.ts";

type Turn = Omit<Message, "id">;
type Compactor = (messages: readonly Turn[], target: number) => readonly Turn[];

const REMOVED = "[Tool result removed during compaction]";
const GO_ON = "Your summary says how far this has come. Go on from there.";
/** How many of the last turns are not shortened. */
const KEPT_TURNS = 6;
/** Results with more characters than this are shortened before results or turns are dropped. */
const CUT_AT = 2000;

/**
 * The compactors: functions that shorten a conversation and keep tool calls together with their results. `none`
 * shortens nothing. For `summarize`, a model call makes the summary, and `compactedBySummary` applies it.
 */
const COMPACTORS: Readonly<Record<AgentConfig["compactor_type"], Compactor>> = {
  none: (messages) => messages,
  summarize: (messages) => messages,
  tool_result_removal: (messages) => editOld(messages, withoutResults),
  sliding_window: slidingWindow,
};

/**
 * Returns the number of tokens above which the context is shortened. This is the setting of the agent, or less if the
 * model has a small window.
 */
export function compactionThreshold({ agent }: SessionState, contextWindow: number | undefined): number {
  const { compaction_threshold: given } = agent as AgentConfig;
  return contextWindow === undefined
    ? given
    : Math.min(given, Math.max(1, contextWindow - outputLimit(agent as AgentConfig)));
}

/**
 * Checks the context before a model call, and shortens it if it is too long. The fact about the check has the reason
 * and, if the context was shortened, the messages for the model.
 */
export async function compact(state: SessionState, current: RunState, deps: HookDeps): Promise<readonly Fact[]> {
  const agent = state.agent as AgentConfig;
  const started = deps.now();
  const threshold = thresholdFor(state, deps);
  if (state.contextTokens <= threshold)
    return [checked(state, { reason: "below_threshold", threshold, messages: null, durationMs: 0 })];
  const before = contextOf(state);
  // The measured tokens include the system prompt and the tools, which no compactor can shorten.
  const target = Math.max(0, Math.floor(threshold * 0.7) - besidesMessages(state));
  const messages = COMPACTORS[agent.compactor_type](before, target);
  if (estimateTokens(messages) >= estimateTokens(before))
    return [checked(state, { reason: "nothing_to_remove", threshold, messages: null, durationMs: 0 })];
  const durationMs = Math.max(0, deps.now() - started);
  return withHooks(
    state,
    current,
    checked(state, { reason: "above_threshold", threshold, messages, durationMs }),
    deps,
  );
}

/**
 * Replaces the context by the first prompt, the summary of the model, and the messages since the last prompt. If these
 * messages are too long, only the last prompt remains of them.
 */
export function compactedBySummary(
  state: SessionState,
  current: RunState,
  { summary, durationMs }: { summary: string; durationMs: number },
  deps: HookDeps,
): Promise<readonly Fact[]> {
  const context = contextOf(state).map(({ role, content }): Turn => ({ role, content }));
  const [first, ...rest] = context;
  const lastPrompt = context.findLastIndex((message) => message.role === "user" && !hasResults(message));
  const latest = context.slice(lastPrompt);
  const threshold = thresholdFor(state, deps);
  const fits = lastPrompt > 0 && estimateTokens(latest) <= threshold / 2;
  const prompt = lastPrompt > 0 ? blocksOf(context[lastPrompt]?.content ?? "") : [];
  const messages: Turn[] = [
    ...(first ? [first] : []),
    { role: "assistant", content: [{ type: "text", text: summary }] },
    ...(fits ? latest : [{ role: "user" as const, content: [...prompt, { type: "text", text: GO_ON }] }]),
  ];
  const shorter = rest.length > 0 && estimateTokens(messages) < estimateTokens(context);
  const said = summary.trim() !== "";
  // An empty summary must not replace the conversation.
  const reason = !said ? "no_summary" : shorter ? "above_threshold" : "nothing_to_remove";
  const left = said && shorter ? messages : null;
  return withHooks(state, current, checked(state, { reason, threshold, messages: left, durationMs }), deps);
}

function thresholdFor(state: SessionState, { models }: HookDeps): number {
  return compactionThreshold(state, models.named(state.tenant, modelOf(state)).contextWindow);
}

interface HookDeps {
  readonly models: ModelCatalog;
  readonly memory: AgentMemory | undefined;
  readonly now: () => number;
}

/** Calls the memory's hooks before and after a compaction. */
async function withHooks(
  state: SessionState,
  current: RunState,
  compaction: Fact,
  { memory, now }: HookDeps,
): Promise<readonly Fact[]> {
  const applied = compaction.event_type === "compaction.checked" && compaction.data.applied;
  if (!memory || !applied) return [compaction];
  const ask = async (call: typeof memory.beforeCompaction) => {
    const started = now();
    const [details, failed] = await askMemory<JsonObject>(MEMORY_ANSWERS.hook, {}, () => call(state));
    return { type: memory.type, durationMs: Math.max(0, now() - started), details, failed };
  };
  const saved = memorySaved(current, await ask((before) => memory.beforeCompaction(before)));
  return [saved, compaction, memoryRestored(current, await ask((after) => memory.afterCompaction(after)))];
}

function checked(
  state: SessionState,
  { messages, ...check }: { reason: string; threshold: number; messages: readonly Turn[] | null; durationMs: number },
): Fact {
  const tokensAfter = messages === null ? state.contextTokens : besidesMessages(state) + estimateTokens(messages);
  return compactionChecked(state, { ...check, messages, tokensAfter });
}

/**
 * Returns how many tokens of the context are not messages: the system prompt, the tools, and the error of the estimate.
 */
function besidesMessages(state: SessionState): number {
  return Math.max(0, state.contextTokens - estimateTokens(contextOf(state)));
}

/**
 * Shortens the messages until they fit. It drops thinking, shortens results, drops results, and finally drops old
 * turns.
 */
function slidingWindow(messages: readonly Turn[], target: number): readonly Turn[] {
  let left = messages;
  for (const edit of [withoutThinking, withShortResults, withoutResults]) {
    left = editOld(left, edit);
    if (estimateTokens(left) <= target) return left;
  }
  return withoutOldTurns(left, target);
}

/** Changes the blocks of all turns except the last ones. */
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

/**
 * Keeps the first message and as many of the last messages as fit. The kept part begins with a user message or in the
 * middle of a run. In the middle of a run, the prompt of the run is kept too.
 */
function withoutOldTurns(messages: readonly Turn[], target: number): readonly Turn[] {
  const [first, ...rest] = messages;
  if (!first) return messages;
  const isWord = (message: Turn): boolean => message.role === "user" && !hasResults(message);
  const starts = rest.flatMap((message, at) =>
    isWord(message) || (message.role === "assistant" && at < rest.length - 1) ? [at] : [],
  );
  const from = (start: number): readonly Turn[] => {
    const prompt = isWord(rest[start] as Turn) ? undefined : rest.slice(0, start).findLast(isWord);
    return [first, ...(prompt ? [prompt] : []), ...rest.slice(start)];
  };
  // Each message is measured once, because many cut positions are tried in a long conversation.
  const sizes = new Map(messages.map((message) => [message, estimateTokens(message)]));
  const sizeOf = (turns: readonly Turn[]): number => turns.reduce((sum, turn) => sum + (sizes.get(turn) ?? 0), 0);
  const start = starts.find((place) => sizeOf(from(place)) <= target) ?? starts.at(-1);
  return start === undefined ? messages : from(start);
}
