/** The 13 kinds of frames that clients of the agent tables know. */
export const ENVELOPE_TYPES = [
  "meta_init",
  "thinking",
  "text",
  "citation",
  "tool_call",
  "server_tool_call",
  "tool_result",
  "tool_result_image",
  "server_tool_result",
  "awaiting_frontend_tools",
  "meta_files",
  "error",
  "meta_final",
] as const;
export type EnvelopeType = (typeof ENVELOPE_TYPES)[number];

/**
 * A piece of a streamed text, tool call or other item. Pieces of one item have the same agent, type and id, and the
 * last piece has `final`.
 *
 * After an error with `reset`, clients discard all earlier pieces with the same `message`, because the model is called
 * again.
 */
export interface Envelope {
  readonly type: EnvelopeType;
  /** The id of the session. */
  readonly agent: string;
  readonly final: boolean;
  readonly delta: string;
  readonly id: string;
  /** The message of the model that this piece is part of. */
  readonly message?: string;
  readonly name?: string;
  readonly is_error?: boolean;
  readonly media_type?: string;
  readonly code?: string;
  readonly reset?: boolean;
}
