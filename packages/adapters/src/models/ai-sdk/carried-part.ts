import type { SharedV4ProviderMetadata } from "@ai-sdk/provider";

/** What a block carries for a provider of the AI SDK. */
export interface CarriedPart {
  /** The `providerMetadata` of the part: it is sent back to the provider as `providerOptions`. */
  readonly metadata?: SharedV4ProviderMetadata;
  /** The provider's id of a call, if the log has a different id for the call. */
  readonly id?: string;
  /** The kind of a part that only its provider understands. */
  readonly custom?: string;
  /** The part is an empty text that has only metadata. */
  readonly isText?: true;
}
