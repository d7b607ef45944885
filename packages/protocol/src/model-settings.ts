import { z } from "zod";
import { JsonObject } from "./content.ts";
import type { ModelPrice } from "./prices.ts";

const Dollars = z.number().nonnegative().max(1_000_000);

/**
 * The price of a model in dollars per million tokens, and the date of the price list. Calls of all dates get this
 * price.
 */
const GivenPrice = z.strictObject({
  input: Dollars,
  output: Dollars,
  /** Default: the price of other input. */
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
  /** The date of the price list. */
  date: z.iso.date(),
});

/** The address, API and abilities of a model. The name of a model begins with its provider: `provider/name`. */
export const ModelSettings = z.strictObject({
  /** The API of the model. Default: the usual API of the provider in the model's name. */
  adapter: z.enum(["anthropic", "openai", "openai-compatible", "bedrock", "vertex"]).optional(),
  /** The provider's name for the model. Default: the part of the model's name after the slash. */
  model_name: z.string().min(1).max(200).optional(),
  url: z
    .url({ protocol: /^https?$/, error: "Expected an http or https address." })
    .max(2000)
    .optional(),
  /** The name of the environment variable that contains the provider's key. Only this name is stored. */
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "Expected the name of an environment variable.")
    .optional(),
  /**
   * The header for the key, for the adapter `anthropic`. Default: `authorization` with `Bearer KEY`, as in the official
   * client. Some older servers support only `x-api-key`.
   */
  key_header: z.enum(["x-api-key", "authorization"]).optional(),
  /** The cloud region, for `bedrock` and `vertex`. */
  region: z
    .string()
    .regex(/^[a-z][a-z0-9-]{1,39}$/, "Expected the region of a cloud, for example eu-west-1.")
    .optional(),
  /** The project in Google's cloud, for `vertex`. */
  project: z
    .string()
    .regex(/^[a-z][a-z0-9.:-]{1,99}$/, "Expected the id of a project in Google's cloud.")
    .optional(),
  price: GivenPrice.optional(),
  /** The size of the model's context window, in tokens. */
  context_window: z.int().positive().optional(),
  abilities: z
    .strictObject({
      tools: z.boolean(),
      /** The model can ask for several tool calls in one answer. */
      parallel_tools: z.boolean(),
      images: z.boolean(),
      pdf: z.boolean(),
      thinking: z.boolean(),
      output: z.boolean(),
      /** The provider caches the beginning of a conversation. */
      caching: z.boolean(),
    })
    .partial()
    .optional(),
  /** Differences of the server from OpenAI's server, for `openai-compatible`. */
  quirks: JsonObject.optional(),
});
export type ModelSettings = z.output<typeof ModelSettings>;

/** Turns the operator's price into a row of the price table. */
export function givenPrice(name: string, price: ModelSettings["price"]): ModelPrice | undefined {
  if (!price) return undefined;
  const { input, output, cache_read = input, cache_write = input } = price;
  const micros = (dollars: number): number => Math.round(dollars * 1_000_000);
  return {
    family: name,
    prices: {
      input: micros(input),
      output: micros(output),
      cache_read: micros(cache_read),
      cache_write_5m: micros(cache_write),
      cache_write_1h: micros(cache_write),
    },
  };
}

/**
 * Returns the provider in a model's name, such as `openai` in `openai/gpt-6`. Returns undefined for a name without a
 * provider, such as `claude-opus-5`.
 */
export function providerOf(name: string): string | undefined {
  const at = name.indexOf("/");
  // Names of Bedrock's profiles (`arn:…`) have a slash, but no provider.
  return at <= 0 || name.startsWith("arn:") ? undefined : name.slice(0, at);
}
