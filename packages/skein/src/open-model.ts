import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import type { Model } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { Config } from "./config.ts";

/** A model, and how to say which one it is. */
export interface OpenModel {
  readonly model: Model;
  readonly description: string;
  readonly simulated: boolean;
  /** Where it is, for those who call it themselves. */
  readonly api: {
    readonly apiKey: string;
    readonly authToken?: string | undefined;
    readonly baseUrl: string | undefined;
  };
  close(): Promise<void>;
}

/** Claude if there is a key or another address, else the simulator in this process, which says that it is one. */
export async function openModel(
  config: Pick<Config, "anthropicApiKey" | "anthropicBaseUrl"> & {
    readonly anthropicAuthToken?: string | undefined;
    readonly silenceMs?: number | undefined;
    /** Between the pieces of a simulated answer, so that people see it being written. */
    readonly demoDelayMs?: number;
    /** Whether a simulation was asked for by name. */
    readonly simulates?: boolean | undefined;
    /** Why only a real model will do, unless a simulation was asked for by name: the end of a sentence. */
    readonly needsRealBecause?: string | undefined;
  },
): Promise<OpenModel> {
  const { anthropicApiKey: apiKey, anthropicAuthToken: authToken, anthropicBaseUrl: baseUrl } = config;
  const silence = config.silenceMs === undefined ? {} : { silenceMs: config.silenceMs };
  if (!config.simulates && (apiKey !== undefined || authToken !== undefined || baseUrl !== undefined))
    return {
      model: createAnthropicModel({
        apiKey: apiKey ?? "none",
        authToken,
        ...(baseUrl !== undefined && { baseUrl }),
        ...silence,
      }),
      description: baseUrl === undefined ? "Claude" : `the Messages API at ${baseUrl}`,
      simulated: false,
      api: { apiKey: apiKey ?? "none", authToken, baseUrl },
      close: async () => {},
    };
  if (!config.simulates && config.needsRealBecause !== undefined)
    throw new KnownError(
      "invalid",
      `No ANTHROPIC_API_KEY is set, and ${config.needsRealBecause}. Set ANTHROPIC_API_KEY, or SKEIN_MODEL=simulation for answers that are made up.`,
    );
  const { createSimulator } = await import("@skein/simulator");
  // A program that forgets to close its agent ends all the same, as it does with a real model.
  const simulator = await createSimulator({ demoDelayMs: config.demoDelayMs ?? 0, keepsProcess: false });
  return {
    model: createAnthropicModel({ apiKey: "simulated", baseUrl: simulator.url, simulated: true, ...silence }),
    description: config.simulates ? "a simulation (SKEIN_MODEL)" : "a simulation (no ANTHROPIC_API_KEY is set)",
    simulated: true,
    api: { apiKey: "simulated", baseUrl: simulator.url },
    close: () => simulator.close(),
  };
}

/** Refuses what is no address, before anything is opened. */
export function checkModelAddress(baseUrl: string | undefined): void {
  if (baseUrl === undefined || /^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) return;
  throw new KnownError("invalid", "The model's address (baseUrl, ANTHROPIC_BASE_URL) is no http or https address.");
}
