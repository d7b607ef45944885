import type { JsonObject } from "./content.ts";

/** An unchanged event of the model's stream. */
export type ModelStreamEvent = JsonObject & { readonly type: string };

/**
 * A piece of the model's answer in an unfinished step. Draft pieces are not stored and may be lost. A later event of
 * the log has the whole text.
 */
export interface DraftPiece {
  readonly session_id: string;
  readonly run_id: string;
  readonly step: number;
  readonly attempt: number;
  readonly message_id: string;
  /** The number of characters of the same kind (text or thinking) that this attempt sent earlier. */
  readonly offset: number;
  readonly event: ModelStreamEvent;
  /** True if the log gets no event about the beginning of this step, only about its end. */
  readonly isUnannounced?: boolean | undefined;
}
