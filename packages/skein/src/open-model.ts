import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import type { Model } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { Config } from "./config.ts";

/** An open model, and its description. */
export interface OpenModel {
  readonly model: Model;
  readonly description: string;
  readonly simulated: boolean;
  /** The address and key of the model, for child processes that call the model. */
  readonly api: {
    readonly apiKey: string;
    readonly authToken?: string | undefined;
    readonly baseUrl: string | undefined;
  };
  close(): Promise<void>;
}

/**
 * Opens Claude if a key or an address is set and no simulation is requested. Otherwise opens the simulator, if allowed.
 */
export async function openModel(
  config: Pick<Config, "anthropicApiKey" | "anthropicBaseUrl"> & {
    readonly anthropicAuthToken?: string | undefined;
    readonly silenceMs?: number | undefined;
    /** The delay between the pieces of a simulated answer, in milliseconds. */
    readonly demoDelayMs?: number;
    /** True if the operator requested the simulation. */
    readonly simulates?: boolean | undefined;
    /** The address of a simulator that several processes share. Default: a simulator in this process. */
    readonly simulatorUrl?: string | undefined;
    /** The reason why a missing key is an error, as the end of a sentence. Undefined if a missing key is allowed. */
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
  if (config.simulates && config.simulatorUrl !== undefined)
    return simulation(config.simulatorUrl, { description: "a shared simulation (SKEIN_MODEL)", silence });
  const { createSimulator } = await import("@skein/simulator");
  // The simulator does not keep the process alive, so a program ends even if it forgets to close its agent.
  const simulator = await createSimulator({ demoDelayMs: config.demoDelayMs ?? 0, keepsProcess: false });
  const description = config.simulates ? "a simulation (SKEIN_MODEL)" : "a simulation (no ANTHROPIC_API_KEY is set)";
  return { ...simulation(simulator.url, { description, silence }), close: () => simulator.close() };
}

/** Makes a model from the address of a simulator. Its answers are marked as simulated and cost nothing. */
function simulation(
  baseUrl: string,
  { description, silence }: { readonly description: string; readonly silence: { readonly silenceMs?: number } },
): OpenModel {
  return {
    model: createAnthropicModel({ apiKey: "simulated", baseUrl, simulated: true, ...silence }),
    description,
    simulated: true,
    api: { apiKey: "simulated", baseUrl },
    close: async () => {},
  };
}

/** Rejects an invalid address. */
export function checkModelAddress(baseUrl: string | undefined): void {
  if (baseUrl === undefined || /^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) return;
  throw new KnownError("invalid", "The model's address (baseUrl, ANTHROPIC_BASE_URL) is not an http or https address.");
}
