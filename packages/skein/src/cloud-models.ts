import { type MessagesModelOptions, type MessagesSender, createMessagesModel } from "@skein/adapters/models/anthropic";
import { type Model, ModelFailure } from "@skein/core";
import { type ModelSettings, isKnownError, regionalPrice } from "@skein/protocol";
import { failingModel } from "./failing-model.ts";
import { hasPart, loadPart, whatToInstall } from "./optional-parts.ts";

interface CloudDeps extends Pick<MessagesModelOptions, "abilities" | "silenceMs" | "price"> {
  /** The cloud's name for the model. */
  readonly modelName: string;
  readonly key: string;
  /** Returns the value of an environment variable. */
  readonly keyIn: (variable: string) => string | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

type CloudSettings = ModelSettings & { readonly adapter: "bedrock" | "vertex" };

/** Makes a Claude model in the cloud of Amazon or Google. Loads the cloud's client at the first request. */
export function cloudModel(name: string, settings: CloudSettings, deps: CloudDeps): Model {
  const { abilities, silenceMs, modelName } = deps;
  const cloud = openCloud(name, settings, deps);
  if ("problem" in cloud) return failingModel(cloud.problem);
  return createMessagesModel({
    ...(abilities && { abilities }),
    silenceMs,
    nameOf: () => modelName,
    isClaude: true,
    pricedAsAsked: true,
    ...cloud,
  });
}

/** Returns the sender and the price of a model in a cloud. If it cannot be called, returns the problem. */
export function openCloud(
  name: string,
  { adapter, url, ...settings }: CloudSettings,
  { key, keyIn, fetch, price }: Omit<CloudDeps, "modelName">,
): Pick<MessagesModelOptions, "send" | "price"> | { readonly problem: string } {
  const region = settings.region ?? keyIn(REGION[adapter]);
  const project = settings.project ?? keyIn("ANTHROPIC_VERTEX_PROJECT_ID");
  if (region === undefined)
    return { problem: `The model "${name}" needs a region. Set it with --region, or in ${REGION[adapter]}.` };
  if (adapter === "vertex" && project === undefined)
    return {
      problem: `The model "${name}" needs a project. Set it with --cloud-project, or in ANTHROPIC_VERTEX_PROJECT_ID.`,
    };
  if (!hasPart(adapter)) return { problem: `The model "${name}" cannot be used. ${whatToInstall(adapter)}` };
  const options = { region, key, url, fetch };
  return {
    // Names of Vertex AI models do not contain the region, so the regional price is added here.
    price: price ?? (adapter === "vertex" && region !== "global" ? regionalPrice(name) : undefined),
    send: lateSender(async () =>
      adapter === "bedrock"
        ? (await loadPart.bedrock()).createBedrockSender(options)
        : (await loadPart.vertex()).createVertexSender({ ...options, project: project ?? "" }),
    ),
  };
}

const REGION = { bedrock: "AWS_REGION", vertex: "CLOUD_ML_REGION" } as const;

/** Returns the AWS credentials of the environment as one key. Returns undefined if they are not set. */
export function awsKey(keyIn: CloudDeps["keyIn"]): string | undefined {
  const [id, secret, token] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].map(keyIn);
  if (!id || !secret) return undefined;
  return [id, secret, ...(token ? [token] : [])].join(":");
}

function lateSender(load: () => Promise<MessagesSender>): MessagesSender {
  let sender: Promise<MessagesSender> | undefined;
  return async (request) => {
    try {
      sender ??= load();
      const send = await sender;
      return await send(request);
    } catch (error) {
      if (!isKnownError(error)) throw error;
      throw new ModelFailure({ code: error.code, message: error.message }, { retryable: false });
    }
  };
}
