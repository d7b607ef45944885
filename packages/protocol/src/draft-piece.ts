import type { JsonObject } from "./content.ts";

/** An event of the model's own stream, passed on unchanged. */
export type ModelStreamEvent = JsonObject & { readonly type: string };

/**
 * One piece of a step that is being generated. It is not stored, and may be lost: the fact that follows has the whole
 * text.
 */
export interface DraftPiece {
  readonly session_id: string;
  readonly run_id: string;
  readonly step: number;
  readonly attempt: number;
  readonly message_id: string;
  /** How many characters of the same kind (text or thinking) this attempt sent before this piece. */
  readonly offset: number;
  readonly event: ModelStreamEvent;
  /** Whether the log gets this step only when it is complete, so that there is no fact about its beginning. */
  readonly isUnannounced?: boolean | undefined;
}
