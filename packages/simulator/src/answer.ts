/** Turns a step of a script into the message that the API would send. */
import type { FileStore } from "./file-store.ts";
import type { Ids } from "./ids.ts";
import type { PromptCache } from "./prompt-cache.ts";
import type { Step } from "./script.ts";
import { citationsOf, codeBlocks, searchBlocks } from "./server-tools.ts";
import { sign } from "./signature.ts";
import { outputTokens } from "./tokens.ts";
import type { AssistantMessage, Block, Container, MessagesRequest, StopReason, Usage } from "./wire.ts";

/** The lifetime of an unused container, sent as `expires_at`. */
const CONTAINER_LIFETIME_MS = 60 * 60_000;

export interface AnswerDeps {
  readonly ids: Ids;
  readonly now: () => number;
  readonly files: FileStore;
  readonly cache: PromptCache;
  /** Converts the simulator's counts into the counts that the API reports. */
  readonly count: (usage: Usage) => Usage;
}

export function buildAnswer(step: Step, request: MessagesRequest, deps: AnswerDeps): AssistantMessage {
  const ended = endOf(contentOf(step, deps), step, request);
  return {
    id: deps.ids("msg_"),
    type: "message",
    role: "assistant",
    model: request.model,
    content: ended.content,
    stop_reason: ended.reason,
    stop_sequence: ended.sequence,
    stop_details: step.stopDetails ?? (ended.reason === "refusal" ? REFUSAL : null),
    container: containerOf(ended.content, request, deps),
    diagnostics: null,
    usage: { ...deps.count(usageOf(ended.content, request, deps)), ...step.usage },
  };
}

const REFUSAL = { type: "refusal", category: null, explanation: null };

function contentOf(step: Step, deps: AnswerDeps): readonly Block[] {
  const content: Block[] = [];
  const searches = listOf(step.search);
  if (step.thinking !== undefined) {
    content.push({ type: "thinking", thinking: step.thinking, signature: sign(step.thinking) });
  }
  for (const run of listOf(step.code)) content.push(...codeBlocks(run, deps));
  for (const search of searches) content.push(...searchBlocks(search, deps.ids));
  if (step.text !== undefined && step.text !== "") {
    const citations = citationsOf(searches);
    content.push({ type: "text", text: step.text, ...(citations.length > 0 && { citations }) });
  }
  for (const { id, name, input } of step.tools ?? []) {
    const caller = { type: "direct" };
    content.push({ type: "tool_use", id: id ?? deps.ids("toolu_"), name, input: input ?? {}, caller });
  }
  content.push(...(step.blocks ?? []));
  return content;
}

interface End {
  readonly content: readonly Block[];
  readonly reason: StopReason;
  readonly sequence: string | null;
}

function endOf(content: readonly Block[], step: Step, request: MessagesRequest): End {
  if (step.stop) return { content, reason: step.stop, sequence: null };
  if (content.some((block) => block.type === "tool_use")) return { content, reason: "tool_use", sequence: null };
  return (
    atStopSequence(content, request.stopSequences) ??
    atMaximum(content, request.max_tokens) ?? { content, reason: "end_turn", sequence: null }
  );
}

function atStopSequence(content: readonly Block[], sequences: readonly string[]): End | null {
  if (sequences.length === 0) return null;
  for (const [index, block] of content.entries()) {
    if (block.type !== "text") continue;
    const text = String(block.text);
    const found = sequences.filter((sequence) => text.includes(sequence));
    const sequence = found.toSorted((a, b) => text.indexOf(a) - text.indexOf(b))[0];
    if (sequence === undefined) continue;
    const cut = { ...block, text: text.slice(0, text.indexOf(sequence)) };
    return { content: [...content.slice(0, index), cut], reason: "stop_sequence", sequence };
  }
  return null;
}

/**
 * Cuts an answer that is longer than `max_tokens`. Only text is cut, because an incomplete input of a tool is useless.
 * If the step of the script sets `stop`, the answer is not cut.
 */
function atMaximum(content: readonly Block[], maximum: number): End | null {
  const excess = outputTokens(content).all - maximum;
  const last = content.at(-1);
  if (excess <= 0 || last?.type !== "text") return null;
  const bytes = Buffer.from(String(last.text));
  const kept = new TextDecoder().decode(bytes.subarray(0, Math.max(4, bytes.length - excess * 4)), { stream: true });
  return { content: [...content.slice(0, -1), { ...last, text: kept }], reason: "max_tokens", sequence: null };
}

function containerOf(content: readonly Block[], request: MessagesRequest, deps: AnswerDeps): Container | null {
  const ranCode = content.some(
    (block) => block.type === "server_tool_use" && String(block.name).endsWith("code_execution"),
  );
  if (!ranCode && !request.container) return null;
  return {
    id: request.container?.id ?? deps.ids("container_"),
    expires_at: new Date(deps.now() + CONTAINER_LIFETIME_MS).toISOString(),
    skills: request.container?.skills.length ? request.container.skills : null,
  };
}

function usageOf(content: readonly Block[], request: MessagesRequest, deps: AnswerDeps): Usage {
  const output = outputTokens(content);
  const uses = content.filter((block) => block.type === "server_tool_use");
  const count = (name: string): number => uses.filter((block) => block.name === name).length;
  return {
    ...deps.cache.measure(request),
    output_tokens: output.all,
    output_tokens_details: { thinking_tokens: output.thinking },
    server_tool_use:
      uses.length === 0 ? null : { web_search_requests: count("web_search"), web_fetch_requests: count("web_fetch") },
    service_tier: "standard",
    inference_geo: "not_available",
    speed: "standard",
  };
}

function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
