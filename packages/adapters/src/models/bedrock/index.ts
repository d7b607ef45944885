import { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk";
import { KnownError } from "@skein/protocol";
import type { MessagesSender } from "../anthropic/index.ts";
import { cloudFetch, createCloudSender } from "../cloud-sender.ts";

export interface BedrockOptions {
  readonly region: string;
  /** An API key of Bedrock, or `ACCESS_KEY_ID:SECRET_ACCESS_KEY`. For temporary keys, `:SESSION_TOKEN` follows. */
  readonly key: string;
  /** The address to call. Default: the region's address. */
  readonly url?: string | undefined;
  /** Makes the connections. Default: `globalThis.fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** AWS's access keys. Ids of permanent keys begin with AKIA, ids of temporary keys with ASIA. */
const ACCESS_KEY = /^(?<id>A[KS]IA[A-Z0-9]{12,124}):(?<secret>[^:\s]+)(?::(?<token>\S+))?$/;

/** Sends requests to Claude on Amazon Bedrock. Uses only the key that is passed in. */
export function createBedrockSender({ region, key, url, fetch }: BedrockOptions): MessagesSender {
  // With an empty key the client would search the machine for credentials.
  if (key.trim() === "") throw new KnownError("invalid", "A model on Bedrock needs a key.");
  const { id, secret, token } = ACCESS_KEY.exec(key)?.groups ?? {};
  const shared = {
    awsRegion: region,
    baseURL: url ?? `https://bedrock-runtime.${region}.amazonaws.com`,
    maxRetries: 0,
    fetch: cloudFetch("Check the network, the region and the address of the model.", fetch),
  };
  if (id === undefined || secret === undefined)
    return createCloudSender(new AnthropicBedrock({ ...shared, apiKey: key }));
  const signing = { apiKey: null, awsAccessKey: id, awsSecretKey: secret, awsSessionToken: token ?? null };
  return createCloudSender(new AnthropicBedrock({ ...shared, ...signing }));
}
