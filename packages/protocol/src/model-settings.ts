import { z } from "zod";
import { JsonObject } from "./content.ts";
import type { ModelPrice } from "./prices.ts";

const Dollars = z.number().nonnegative().max(1_000_000);

/** The price of a model in dollars per million tokens, and the date from which it applies. */
const GivenPrice = z.strictObject({
  input: Dollars,
  output: Dollars,
  /** Default: the price of other input. */
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
  /** The date of the price. */
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
  /** The environment variable with the key. The key itself is not stored. */
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "Expected the name of an environment variable.")
    .optional(),
  /**
   * The header with the key, for the adapter `anthropic`. Default: `authorization`, as `Bearer KEY`, which is what the
   * official client sends. Some older servers only know `x-api-key`.
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
      /** The model may ask for several tool calls in one answer. */
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
  /** How the server of the model differs from OpenAI's, for `openai-compatible`. */
  quirks: JsonObject.optional(),
});
export type ModelSettings = z.output<typeof ModelSettings>;

/** The operator's price for a model, in the form of a row of the price table. */
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

/** The prefix of a model's name: `openai` in `openai/gpt-6`. Undefined for Claude's own names. */
export function providerOf(name: string): string | undefined {
  const at = name.indexOf("/");
  // The names of Bedrock's profiles (`arn:…`) have a slash, but no provider before it.
  return at <= 0 || name.startsWith("arn:") ? undefined : name.slice(0, at);
}
