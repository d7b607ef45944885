import type { SharedV4ProviderMetadata } from "@ai-sdk/provider";

/** What a block carries for a provider of the AI SDK. */
export interface CarriedPart {
  /** The `providerMetadata` of the part: the provider gets it back as `providerOptions`. */
  readonly metadata?: SharedV4ProviderMetadata;
  /** The id of a call, where the log has another one. */
  readonly id?: string;
  /** The kind of a part that only its provider understands. */
  readonly custom?: string;
  /** The part is a text without words, and has only metadata. */
  readonly isText?: true;
}
