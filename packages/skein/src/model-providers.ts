import { type ModelSettings, providerOf } from "@skein/protocol";

/** Known providers with their address and API. A model of such a provider needs only a name and an API key. */
export const PROVIDERS: Readonly<Record<string, ModelSettings>> = {
  openai: { adapter: "openai", key_env: "OPENAI_API_KEY" },
  bedrock: { adapter: "bedrock", key_env: "AWS_BEARER_TOKEN_BEDROCK" },
  vertex: { adapter: "vertex", key_env: "GOOGLE_CREDENTIALS" },
  openrouter: {
    adapter: "openai-compatible",
    url: "https://openrouter.ai/api/v1",
    key_env: "OPENROUTER_API_KEY",
    quirks: { thinking: "reasoning" },
  },
  deepseek: {
    adapter: "openai-compatible",
    url: "https://api.deepseek.com/v1",
    key_env: "DEEPSEEK_API_KEY",
    quirks: { thinking: "thinking", reasoning_back: "reasoning_content" },
  },
  groq: {
    adapter: "openai-compatible",
    url: "https://api.groq.com/openai/v1",
    key_env: "GROQ_API_KEY",
    quirks: { max_tokens_field: "max_completion_tokens", thinking: "reasoning_effort" },
  },
  together: { adapter: "openai-compatible", url: "https://api.together.xyz/v1", key_env: "TOGETHER_API_KEY" },
  mistral: { adapter: "openai-compatible", url: "https://api.mistral.ai/v1", key_env: "MISTRAL_API_KEY" },
  ollama: { adapter: "openai-compatible", url: "http://127.0.0.1:11434/v1", quirks: { thinking: "reasoning_effort" } },
  lmstudio: { adapter: "openai-compatible", url: "http://127.0.0.1:1234/v1" },
  vllm: { adapter: "openai-compatible", url: "http://127.0.0.1:8000/v1" },
  "openai-compatible": { adapter: "openai-compatible" },
};

/** Tells whether a name has no provider or the provider `anthropic`. */
export function isClaudeName(name: string): boolean {
  const provider = providerOf(name);
  return provider === undefined || provider === "anthropic";
}

/** Adds the settings of the provider to the settings of a model. */
export function settingsOf(name: string, settings: ModelSettings): ModelSettings {
  const provider = providerOf(name) ?? "";
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  const usual: ModelSettings = known ?? (isClaudeName(name) ? { adapter: "anthropic" } : {});
  return {
    ...usual,
    ...cloudKey(settings),
    ...settings,
    ...(usual.quirks && { quirks: { ...usual.quirks, ...settings.quirks } }),
  };
}

/**
 * Names the variable with the key of a model in a cloud. Without a key, the cloud's client would search the machine for
 * one.
 */
function cloudKey({ adapter }: ModelSettings): Pick<ModelSettings, "key_env"> | undefined {
  if (adapter !== "bedrock" && adapter !== "vertex") return undefined;
  const { key_env } = PROVIDERS[adapter] ?? {};
  return key_env === undefined ? undefined : { key_env };
}
