import type { SharedV4ProviderMetadata } from "@ai-sdk/provider";

/**
 * Data of a provider of the AI SDK that is stored with a content block. Only the model that wrote the block gets this
 * data back.
 */
export interface CarriedPart {
  /** The `providerMetadata` of the part. The next request sends this metadata back as `providerOptions`. */
  readonly metadata?: SharedV4ProviderMetadata;
  /** The provider's id of a tool call, if the log has a different id for the call. */
  readonly id?: string;
  /** The kind of a part, if only the provider understands the part. */
  readonly custom?: string;
  /** True for an empty text that is kept for its metadata. */
  readonly isText?: true;
}
