import { createCloudUpstream } from "@skein/adapters/models/cloud-upstream";
import { type BrokeredModel, createHttpUpstream } from "@skein/adapters/sandboxes/model-broker";
import { KnownError, type ModelSettings } from "@skein/protocol";
import { openCloud } from "./cloud-models.ts";
import { settingsOf } from "./model-providers.ts";
import { type ReachDeps, reachOf } from "./model-reach.ts";

/** Returns how Claude Code reaches a model. Claude Code can use only models with the Messages API. */
export function claudeCodeModel(name: string, given: ModelSettings, deps: ReachDeps): BrokeredModel {
  const { adapter } = settingsOf(name, given);
  if (adapter === undefined || adapter === "openai" || adapter === "openai-compatible")
    throw notForClaudeCode(name, adapter);
  const reach = reachOf(name, given, deps);
  if ("problem" in reach) throw new KnownError("invalid", `model: ${reach.problem}`);
  const { settings, modelName, apiKey, price, fetch } = reach;
  const { abilities = {} } = settings;
  if (abilities.tools === false)
    throw new KnownError("invalid", `model: Claude Code cannot use the model "${name}": the model cannot call tools.`);
  const lacks = (["caching", "thinking"] as const).filter((ability) => abilities[ability] === false);
  switch (adapter) {
    case "anthropic":
      return {
        modelName,
        price,
        lacks,
        upstream: createHttpUpstream({
          baseUrl: settings.url ?? "https://api.anthropic.com",
          credentials:
            settings.key_header === "x-api-key"
              ? { "x-api-key": apiKey ?? "none" }
              : { authorization: `Bearer ${apiKey ?? "none"}` },
          fetch,
        }),
      };
    case "bedrock":
    case "vertex": {
      const cloud = openCloud(name, { ...given, adapter }, { price, fetch, key: apiKey ?? "", keyIn: deps.keyIn });
      if ("problem" in cloud) throw new KnownError("invalid", `model: ${cloud.problem}`);
      return { modelName, price: cloud.price, lacks, upstream: createCloudUpstream(cloud.send) };
    }
  }
}

/** Returns the error for a model with another API. */
export function notForClaudeCode(name: string, adapter: string | undefined): KnownError {
  return new KnownError(
    "invalid",
    `model: Claude Code cannot use the model "${name}", whose adapter is ${adapter ?? "unknown"}: it needs a model with the adapter anthropic, bedrock or vertex. If its server also speaks the Messages API, add it with --adapter anthropic.`,
  );
}
