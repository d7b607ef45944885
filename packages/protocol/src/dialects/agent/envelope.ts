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
 * A piece of one thing that is streamed. Pieces of the same agent, type and id belong together, in order, up to the
 * one that is final.
 *
 * An error with `reset` makes everything with its `message` void: the model is called again and starts over.
 */
export interface Envelope {
  readonly type: EnvelopeType;
  /** The session. */
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
