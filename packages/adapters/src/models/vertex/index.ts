import { AnthropicVertex } from "@anthropic-ai/vertex-sdk";
import type { MessagesSender } from "../anthropic/index.ts";
import { cloudFetch, createCloudSender } from "../cloud-sender.ts";
import { createAccessTokens } from "./access-token.ts";

export interface VertexOptions {
  readonly region: string;
  readonly project: string;
  /** The JSON of a service account's key, or an access token. */
  readonly key: string;
  /** The address to call. Default: the region's address. */
  readonly url?: string | undefined;
  /** Makes the connections. Default: `globalThis.fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly now?: () => number;
}

type AuthClient = NonNullable<NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>["authClient"]>;

/**
 * Sends requests to Claude on Google's Vertex AI. Uses only the key that is passed in. Google's library would search
 * the machine for credentials and call the cloud's metadata server.
 */
export function createVertexSender({ region, project, key, url, fetch, now }: VertexOptions): MessagesSender {
  const tokens = createAccessTokens({ key, fetch, now });
  const authClient = {
    getRequestHeaders: async () => new Headers({ authorization: `Bearer ${await tokens.current()}` }),
  };
  const client = new AnthropicVertex({
    region,
    projectId: project,
    baseURL: url ?? addressOf(region),
    // The client uses no other method of the authentication object.
    authClient: authClient as unknown as AuthClient,
    maxRetries: 0,
    fetch: cloudFetch("Check the network, the region and the address of the model.", fetch),
  });
  const send = createCloudSender(client);
  return async (request) => {
    // The client would continue to wait for a token after the request is aborted, so this code waits for the token
    // first.
    await tokens.current(request.signal);
    return send(request);
  };
}

function addressOf(region: string): string {
  if (region === "global") return "https://aiplatform.googleapis.com/v1";
  if (region === "us" || region === "eu") return `https://aiplatform.${region}.rep.googleapis.com/v1`;
  return `https://${region}-aiplatform.googleapis.com/v1`;
}
