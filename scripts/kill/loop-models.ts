/** The models of `npm run kill`: every adapter on the simulator, which implements the API of each. */
import { createGoogle } from "@ai-sdk/google";
import { createAiSdkModel } from "@skein/adapters/models/ai-sdk";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import type { Model } from "@skein/core";

const KEY = "kill";

const OPENED = {
  anthropic: (url) => createAnthropicModel({ apiKey: KEY, baseUrl: url }),
  openai: (url) => createOpenAiModel({ modelName: "gpt-6", apiKey: KEY, url: `${url}/v1` }),
  "openai-compatible": (url) => createOpenAiCompatibleModel({ modelName: "llama", apiKey: KEY, url: `${url}/v1` }),
  "ai-sdk": (url) =>
    createAiSdkModel({ model: createGoogle({ baseURL: `${url}/v1beta`, apiKey: KEY })("gemini-3-pro") }),
} satisfies Record<string, (url: string) => Model>;

export type AdapterName = keyof typeof OPENED;
export const ADAPTERS = Object.keys(OPENED) as readonly AdapterName[];

/** The model of an adapter on the simulator at this address. */
export function openLoopModel(adapter: AdapterName, url: string): Model {
  return OPENED[adapter](url);
}
