import { z } from "zod";
import { JsonObject } from "./content.ts";
import type { ModelPrice } from "./prices.ts";

const Dollars = z.number().nonnegative().max(1_000_000);

/** What a model costs, in dollars for a million tokens, and since when that is so. */
const GivenPrice = z.strictObject({
  input: Dollars,
  output: Dollars,
  /** Without it cached input costs what other input costs. */
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
  /** The day on which the price was looked up. */
  date: z.iso.date(),
});

/** How a model is reached, and what it can do. The name of the model says its provider: `provider/name`. */
export const ModelSettings = z.strictObject({
  /** The API that the model speaks. Without it, the one of the provider in its name. */
  adapter: z.enum(["anthropic", "openai", "openai-compatible"]).optional(),
  /** The name that the provider has for the model. Without it, what stands behind the provider in its name. */
  model_name: z.string().min(1).max(200).optional(),
  url: z
    .url({ protocol: /^https?$/, error: "Expected an http or https address." })
    .max(2000)
    .optional(),
  /** The environment variable with the key. The key itself is stored nowhere. */
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "Expected the name of an environment variable.")
    .optional(),
  price: GivenPrice.optional(),
  /** Tokens of a conversation that the model can read. */
  context_window: z.int().positive().optional(),
  abilities: z
    .strictObject({
      tools: z.boolean(),
      images: z.boolean(),
      pdf: z.boolean(),
      thinking: z.boolean(),
      output: z.boolean(),
    })
    .partial()
    .optional(),
  /** How the server of the model differs from OpenAI's, for `openai-compatible`. */
  quirks: JsonObject.optional(),
});
export type ModelSettings = z.output<typeof ModelSettings>;

/** A price of the operator as the table of prices has it. */
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
