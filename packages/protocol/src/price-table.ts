/**
 * The prices of models, by family.
 *
 * Most of Anthropic's rows were compared with the offline table of `ccusage@20.0.24`. The rows of family 5.5 come from
 * Anthropic's model pages. Since family 4.5, regional endpoints cost 10 % more. `inference_geo` has no price here,
 * because reported usage does not contain it. If a model has no published price for `speed: "fast"`, the API serves the
 * request at standard speed, so the standard price applies.
 */

/** Prices of one million tokens in micro-dollars. The same numbers are the prices of one token in pico-dollars. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cache_write_5m: number;
  readonly cache_write_1h: number;
  readonly cache_read: number;
}

/** A family of models with its prices. Names with a date, a provider or a region belong to the same family. */
export interface ModelPrice {
  readonly family: string;
  readonly prices: TokenPrices;
  /** Prices for all tokens of a request with more than `above` input tokens, including cached tokens. */
  readonly long_context?: { readonly above: number; readonly prices: TokenPrices };
  /** The price of every token with `speed: "fast"`, in percent of the standard price. */
  readonly fast_percent?: number;
  /** The price of every token at a regional endpoint (`us.anthropic.…`), in percent of the standard price. */
  readonly regional_percent?: number;
  /** Earlier prices, oldest first. An earlier price ended at the start of the day `until` (UTC). */
  readonly earlier?: readonly { readonly until: string; readonly price: ModelPrice }[];
}

const dollars = (amount: number): number => Math.round(amount * 1_000_000);

/**
 * Returns prices in the form of the table. A cache write for five minutes costs 1.25 times the input price, if no other
 * price is given. A cache write for an hour always costs twice the input price.
 */
const rates = (input: number, output: number, cacheRead: number, cacheWrite5m = input * 1.25): TokenPrices => ({
  input: dollars(input),
  output: dollars(output),
  cache_write_5m: dollars(cacheWrite5m),
  cache_write_1h: dollars(input * 2),
  cache_read: dollars(cacheRead),
});

const sonnetLongContext = { above: 200_000, prices: rates(6, 22.5, 0.6) };

export const PRICES: readonly ModelPrice[] = [
  { family: "claude-fable-5-1", prices: rates(10, 50, 0.25), regional_percent: 110 },
  { family: "claude-fable-5", prices: rates(10, 50, 1), regional_percent: 110 },
  { family: "claude-mythos-5-1", prices: rates(10, 50, 0.25), regional_percent: 110 },
  { family: "claude-mythos-5", prices: rates(10, 50, 1), regional_percent: 110 },
  { family: "claude-mythos-preview", prices: rates(10, 50, 1) },
  { family: "claude-opus-5-5", prices: rates(4, 20, 0.2), fast_percent: 200, regional_percent: 110 },
  { family: "claude-opus-5", prices: rates(5, 25, 0.5), fast_percent: 200, regional_percent: 110 },
  { family: "claude-opus-4-8", prices: rates(5, 25, 0.5), fast_percent: 200, regional_percent: 110 },
  { family: "claude-opus-4-7", prices: rates(5, 25, 0.5), fast_percent: 600, regional_percent: 110 },
  { family: "claude-opus-4-6", prices: rates(5, 25, 0.5), fast_percent: 600, regional_percent: 110 },
  { family: "claude-opus-4-5", prices: rates(5, 25, 0.5), regional_percent: 110 },
  { family: "claude-opus-4-1", prices: rates(15, 75, 1.5) },
  { family: "claude-opus-4", prices: rates(15, 75, 1.5) },
  {
    family: "claude-sonnet-5-5",
    prices: rates(2, 10, 0.1),
    regional_percent: 110,
    earlier: [
      {
        until: "2026-10-07",
        price: { family: "claude-sonnet-5-5", prices: rates(2, 10, 0.2), regional_percent: 110 },
      },
    ],
  },
  { family: "claude-sonnet-5", prices: rates(2, 10, 0.2), regional_percent: 110 },
  { family: "claude-sonnet-4-6", prices: rates(3, 15, 0.3), regional_percent: 110 },
  { family: "claude-sonnet-4-5", prices: rates(3, 15, 0.3), long_context: sonnetLongContext, regional_percent: 110 },
  { family: "claude-sonnet-4", prices: rates(3, 15, 0.3), long_context: sonnetLongContext },
  {
    family: "claude-haiku-5-5",
    prices: rates(0.1, 0.5, 0.01),
    long_context: { above: 100_000, prices: rates(0.5, 2.5, 0.05) },
    regional_percent: 110,
  },
  { family: "claude-haiku-4-5", prices: rates(1, 5, 0.1), regional_percent: 110 },
  { family: "claude-3-7-sonnet", prices: rates(3, 15, 0.3) },
  { family: "claude-3-5-sonnet", prices: rates(3, 15, 0.3) },
  { family: "claude-3-5-haiku", prices: rates(0.8, 4, 0.08) },
  { family: "claude-3-opus", prices: rates(15, 75, 1.5) },
  { family: "claude-3-sonnet", prices: rates(3, 15, 0.3) },
  { family: "claude-3-haiku", prices: rates(0.25, 1.25, 0.03, 0.3) },
  ...otherModels(),
];

/**
 * Returns list prices for models of other makers than Anthropic. In November 2026, two public sources had these prices,
 * and one source was the maker's list or quoted it. For `gpt-5-1-codex-max`, and for cached input of the other
 * `gpt-5-1` Codex models and of `gemini-3-pro`, only one source had the price. Earlier prices have the day of the
 * change.
 *
 * A model is left out, and has no price, if the sources disagree or if its price changed on an unknown day. There are
 * three exceptions. For cached input of `grok-4-5`, some tables have $0.50, the price of later models, but xAI's list
 * has $0.30. For `o4-mini`, some tables have half of the list price, which is the price of slower requests. Until an
 * unknown day in 2025, cached input of the Gemini 2.5 models cost 2.5 times as much. Today's price is used, because
 * Gemini CLI keeps its sessions for only 30 days.
 *
 * From 2027 on, `gemini-3-8-flash` will cost twice as much.
 */
function otherModels(): readonly ModelPrice[] {
  /** Returns prices at which a cache write for five minutes costs as much as input. */
  const same = (input: number, output: number, cacheRead: number): TokenPrices =>
    rates(input, output, cacheRead, input);
  const long = (above: number, short: TokenPrices, prices: TokenPrices): Omit<ModelPrice, "family"> => ({
    prices: short,
    long_context: { above, prices },
  });
  /**
   * Returns prices of OpenAI's models since GPT-5.6. Cached input costs a tenth of input, if no other price is given.
   * In a long request, input costs twice as much and output 1.5 times as much.
   */
  const openai = (input: number, output: number, cacheRead = input / 10): Omit<ModelPrice, "family"> =>
    long(272_000, rates(input, output, cacheRead), rates(input * 2, output * 1.5, cacheRead * 2));
  const until = (family: string, day: string, price: Omit<ModelPrice, "family">) => ({
    until: day,
    price: { family, ...price },
  });
  return [
    { family: "gpt-5", prices: same(1.25, 10, 0.125) },
    { family: "gpt-5-codex", prices: same(1.25, 10, 0.125) },
    { family: "gpt-5-mini", prices: same(0.25, 2, 0.025) },
    { family: "gpt-5-nano", prices: same(0.05, 0.4, 0.005) },
    { family: "gpt-5-1", prices: same(1.25, 10, 0.125) },
    { family: "gpt-5-1-codex", prices: same(1.25, 10, 0.125) },
    { family: "gpt-5-1-codex-max", prices: same(1.25, 10, 0.125) },
    { family: "gpt-5-1-codex-mini", prices: same(0.25, 2, 0.025) },
    { family: "gpt-5-2", prices: same(1.75, 14, 0.175) },
    { family: "gpt-5-2-codex", prices: same(1.75, 14, 0.175) },
    { family: "gpt-5-3-codex", prices: same(1.75, 14, 0.175) },
    { family: "gpt-5-4", ...long(272_000, same(2.5, 15, 0.25), same(5, 22.5, 0.5)) },
    { family: "gpt-5-4-mini", prices: same(0.75, 4.5, 0.075) },
    { family: "gpt-5-4-nano", prices: same(0.2, 1.25, 0.02) },
    { family: "gpt-5-5", ...long(272_000, same(5, 30, 0.5), same(10, 45, 1)) },
    {
      family: "gpt-5-6-luna",
      ...openai(0.2, 1.2),
      earlier: [until("gpt-5-6-luna", "2026-07-30", openai(1, 6))],
    },
    {
      family: "gpt-5-6-sol",
      ...openai(4, 20),
      earlier: [until("gpt-5-6-sol", "2026-08-21", openai(5, 30))],
    },
    {
      family: "gpt-5-6-terra",
      ...openai(2, 12),
      earlier: [until("gpt-5-6-terra", "2026-07-30", openai(2.5, 15))],
    },
    { family: "gpt-6-astra", ...openai(10, 50) },
    { family: "gpt-6-luna", ...openai(0.1, 0.5) },
    { family: "gpt-6-sol", ...openai(2, 10) },
    { family: "gpt-6-1-sol", ...openai(2, 10, 0.1) },
    { family: "gpt-6-1-terra", ...openai(1, 5, 0.05) },
    { family: "gpt-4-1", prices: same(2, 8, 0.5) },
    { family: "o4-mini", prices: same(1.1, 4.4, 0.275) },
    { family: "gemini-2-5-pro", ...long(200_000, same(1.25, 10, 0.125), same(2.5, 15, 0.25)) },
    { family: "gemini-2-5-flash", prices: same(0.3, 2.5, 0.03) },
    { family: "gemini-2-5-flash-lite", prices: same(0.1, 0.4, 0.01) },
    { family: "gemini-3-pro", ...long(200_000, same(2, 12, 0.2), same(4, 18, 0.4)) },
    { family: "gemini-3-1-pro", ...long(200_000, same(2, 12, 0.2), same(4, 18, 0.4)) },
    { family: "gemini-3-flash", prices: same(0.5, 3, 0.05) },
    { family: "gemini-3-5-flash", prices: same(1.5, 9, 0.15) },
    { family: "gemini-3-8-flash", prices: same(0.75, 3.75, 0.075) },
    { family: "grok-4-5", ...long(200_000, same(2, 6, 0.3), same(4, 12, 0.6)) },
    { family: "grok-4-6", ...long(200_000, same(2, 6, 0.5), same(4, 12, 1)) },
    { family: "grok-4-7", ...long(200_000, same(2, 6, 0.5), same(4, 12, 1)) },
    { family: "kimi-k3", prices: same(3, 15, 0.3) },
  ];
}

/** Other names of model families. */
export const PRICE_ALIASES: readonly (readonly [name: string, family: string])[] = [
  ["claude-4-opus", "claude-opus-4"],
  ["claude-4-sonnet", "claude-sonnet-4"],
  ["gpt-5-6", "gpt-5-6-sol"],
  ["gemini-3-pro-preview", "gemini-3-pro"],
  ["gemini-3-1-pro-preview", "gemini-3-1-pro"],
  ["gemini-3-flash-preview", "gemini-3-flash"],
];
