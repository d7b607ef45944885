/** Every adapter of a model against the simulator, which checks requests as providers do. */
import { createGoogle } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createAiSdkModel } from "@skein/adapters/models/ai-sdk";
import { createAnthropicModel, createMessagesModel } from "@skein/adapters/models/anthropic";
import { createBedrockSender } from "@skein/adapters/models/bedrock";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { createVertexSender } from "@skein/adapters/models/vertex";
import type { Model } from "@skein/core";
import { type ModelUnderTest, describeModel } from "@skein/core/testing";
import type { Usage } from "@skein/protocol";
import { type Simulator, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll } from "vitest";

const KEY = "sk-not-to-be-told";
let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());

let labels = 0;

/** Returns a model on the shared simulator. `asked` returns only the calls of this model. */
function under(
  name: string,
  model: (silence: { readonly silenceMs?: number }) => Model,
): () => Promise<ModelUnderTest> {
  return async () => {
    const label = `model ${++labels}`;
    return {
      name,
      model: (silence = {}) => model(silence),
      prompt: (steps) => script(steps, label),
      asked: () =>
        simulator.ledger.calls({ label }).map(({ request, usage }) => ({ request, usage: { ...usage } as Usage })),
    };
  };
}

describeModel(
  "anthropic",
  under("claude-sonnet-5-5", (silence) => createAnthropicModel({ apiKey: KEY, baseUrl: simulator.url, ...silence })),
);

describeModel(
  "openai",
  under("openai/gpt-6", (silence) =>
    createOpenAiModel({ modelName: "gpt-6", apiKey: KEY, url: `${simulator.url}/v1`, ...silence }),
  ),
);

describeModel(
  "openai-compatible",
  under("openai-compatible/llama", (silence) =>
    createOpenAiCompatibleModel({
      modelName: "llama",
      apiKey: KEY,
      url: `${simulator.url}/v1`,
      abilities: { images: true },
      ...silence,
    }),
  ),
);

describeModel(
  "openai-compatible without images",
  under("openai-compatible/blind", (silence) =>
    createOpenAiCompatibleModel({ modelName: "blind", apiKey: KEY, url: `${simulator.url}/v1`, ...silence }),
  ),
  { images: "this model reads no images" },
);

describeModel(
  "ai-sdk with @ai-sdk/openai-compatible",
  under("compatible/llama", (silence) =>
    createAiSdkModel({
      model: createOpenAICompatible({
        name: "compatible",
        baseURL: `${simulator.url}/v1`,
        apiKey: KEY,
        includeUsage: true,
      })("llama"),
      ...silence,
    }),
  ),
);

describeModel(
  "ai-sdk with @ai-sdk/google",
  under("google/gemini-3-pro", (silence) =>
    createAiSdkModel({
      model: createGoogle({ baseURL: `${simulator.url}/v1beta`, apiKey: KEY })("gemini-3-pro"),
      ...silence,
    }),
  ),
  {
    results: "this provider puts the text of a result into an object",
    textArguments: "arguments are objects in Gemini's API, never text",
  },
);

const AWS = "AKIAIOSFODNN7EXAMPLE:sk-not-to-be-told";

describeModel(
  "anthropic on Bedrock, signed",
  under("bedrock/eu.anthropic.claude-sonnet-5-5", (silence) =>
    createMessagesModel({
      ...cloud("eu.anthropic.claude-sonnet-5-5", silence),
      send: createBedrockSender({ region: "eu-west-1", key: AWS, url: simulator.url }),
    }),
  ),
);

describeModel(
  "anthropic on Vertex",
  under("vertex/claude-sonnet-5-5", (silence) =>
    createMessagesModel({
      ...cloud("claude-sonnet-5-5", silence),
      send: createVertexSender({ region: "europe-west1", project: "p-1", key: KEY, url: `${simulator.url}/v1` }),
    }),
  ),
);

function cloud(name: string, silence: { readonly silenceMs?: number }) {
  return { nameOf: () => name, isClaude: true, pricedAsAsked: true, ...silence };
}
