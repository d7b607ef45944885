/** The parts of the Messages API's shapes that the simulator reads. Everything else is passed on unchanged. */

export type JsonObject = { readonly [key: string]: unknown };

/** One content block, of any type: unknown types are passed on, not rejected. */
export interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface Message {
  /** Claude Code sends `system` entries in the middle of a conversation. */
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly Block[];
}

export interface Tool {
  readonly name: string;
  /** Absent or `custom` for a tool of the client, and the version for a server tool. */
  readonly type?: string;
  readonly description?: string;
  readonly input_schema?: JsonObject;
  readonly [key: string]: unknown;
}

/** A checked request, whose fields have these types. */
export interface MessagesRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly max_tokens: number;
  readonly stream: boolean;
  readonly system: string | readonly Block[];
  readonly tools: readonly Tool[];
  readonly toolChoice: { readonly type: string; readonly name?: string };
  readonly thinking: boolean;
  readonly stopSequences: readonly string[];
  readonly container: { readonly id: string | null; readonly skills: readonly JsonObject[] } | null;
  /** The schema of `output_config.format`, if the caller wants JSON. */
  readonly outputSchema: JsonObject | null;
  /** The `cache_control` at the top of the request. It marks the last block of the request. */
  readonly cacheControl: CacheControl | null;
}

export interface CacheControl {
  readonly type: "ephemeral";
  readonly ttl?: "5m" | "1h";
}

/** How many tokens a call took, as the API reports it. */
export interface Usage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly thinking_tokens: number };
  readonly server_tool_use: { readonly web_search_requests: number; readonly web_fetch_requests: number } | null;
  readonly service_tier: "standard";
  readonly inference_geo: string;
  readonly speed: "standard";
}

export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "stop_sequence"
  | "tool_use"
  | "pause_turn"
  | "refusal"
  | "model_context_window_exceeded";

export interface Container {
  readonly id: string;
  readonly expires_at: string;
  readonly skills: readonly JsonObject[] | null;
}

/** The answer to a call that does not stream. */
export interface AssistantMessage {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
  readonly stop_details: JsonObject | null;
  readonly container: Container | null;
  readonly diagnostics: null;
  readonly usage: Usage;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The texts of a message, without tool results. */
export function textsOf(content: Message["content"]): readonly string[] {
  if (typeof content === "string") return [content];
  return content.flatMap((block) => (block.type === "text" && typeof block.text === "string" ? [block.text] : []));
}

/** The content of a `tool_result` block, as one text. */
export function resultText(block: Block): string {
  if (typeof block.content === "string") return block.content;
  if (!Array.isArray(block.content)) return "";
  return textsOf(block.content as Block[]).join("\n");
}

export function blocksOf(content: Message["content"]): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
