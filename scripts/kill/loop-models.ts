/**
 * The models of `npm run kill`: every model adapter, connected to the simulator. The simulator implements all their
 * APIs.
 */
import { createGoogle } from "@ai-sdk/google";
import { createAiSdkModel } from "@skein/adapters/models/ai-sdk";
import { createAnthropicModel, createMessagesModel } from "@skein/adapters/models/anthropic";
import { createBedrockSender } from "@skein/adapters/models/bedrock";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { createVertexSender } from "@skein/adapters/models/vertex";
import type { Model } from "@skein/core";

const KEY = "kill";

const OPENED = {
  anthropic: (url) => createAnthropicModel({ apiKey: KEY, baseUrl: url }),
  openai: (url) => createOpenAiModel({ modelName: "gpt-6", apiKey: KEY, url: `${url}/v1` }),
  "openai-compatible": (url) => createOpenAiCompatibleModel({ modelName: "llama", apiKey: KEY, url: `${url}/v1` }),
  "ai-sdk": (url) =>
    createAiSdkModel({ model: createGoogle({ baseURL: `${url}/v1beta`, apiKey: KEY })("gemini-3-pro") }),
  bedrock: (url) =>
    inCloud("eu.anthropic.claude-sonnet-5-5", createBedrockSender({ region: "eu-west-1", key: KEY, url })),
  vertex: (url) =>
    inCloud(
      "claude-sonnet-5-5",
      createVertexSender({ region: "europe-west1", project: "p-1", key: KEY, url: `${url}/v1` }),
    ),
} satisfies Record<string, (url: string) => Model>;

function inCloud(name: string, send: Parameters<typeof createMessagesModel>[0]["send"]): Model {
  return createMessagesModel({ send, nameOf: () => name, isClaude: true, pricedAsAsked: true });
}

export type AdapterName = keyof typeof OPENED;
export const ADAPTERS = Object.keys(OPENED) as readonly AdapterName[];

/** Opens a model of an adapter that calls the simulator at this address. */
export function openLoopModel(adapter: AdapterName, url: string): Model {
  return OPENED[adapter](url);
}
