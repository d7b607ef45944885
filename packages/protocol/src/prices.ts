/**
 * Computes the exact cost of a model call in pico-dollars. The loop, the history and SQL use the same price table.
 *
 * For a model without a price, `priceCall` returns `undefined` and not 0. With 0, an incomplete total would look
 * complete. A name has a price only if every part of the name is known.
 */
import { PICOS_PER_MICRO, microsOf } from "./money.ts";
import { PRICES, PRICE_ALIASES, type ModelPrice, type TokenPrices } from "./price-table.ts";
import type { CallCost } from "./usage.ts";

/** Exported again here, so that code for prices need not load the schemas. */
export { PRICES, PRICE_ALIASES, type ModelPrice, type TokenPrices } from "./price-table.ts";
export { dollarsOf, joinedAmount, microsOf } from "./money.ts";

/** The day on which the figures were last compared with the published list. */
export const PRICES_VERSION = "2026-11-19";

export interface TokenUsage {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens?: number | null | undefined;
  cache_read_input_tokens?: number | null | undefined;
  cache_creation?:
    | { ephemeral_5m_input_tokens?: number | undefined; ephemeral_1h_input_tokens?: number | undefined }
    | null
    | undefined;
  server_tool_use?: { web_search_requests?: number | undefined } | null | undefined;
  speed?: string | null | undefined;
}

/** $10 for a thousand searches. */
export const WEB_SEARCH_MICROS = 10_000;

/**
 * Returns the price of a model at an earlier time in milliseconds. Returns undefined if today's price applied at this
 * time.
 */
export function earlierPrice(model: string, at: number): ModelPrice | undefined {
  const found = findPrice(model);
  const earlier = found?.price.earlier?.find(({ until }) => at < Date.parse(until))?.price;
  return earlier && found.regional ? inRegion(earlier) : earlier;
}

/** Returns today's price of a model. */
function todaysPrice(model: string): ModelPrice | undefined {
  const found = findPrice(model);
  return found?.regional ? inRegion(found.price) : found?.price;
}

/** Adds the region's surcharge to a price, because `priceCall` adds no surcharge to a given price. */
function inRegion({ regional_percent = 100, long_context, ...price }: ModelPrice): ModelPrice {
  return {
    ...price,
    prices: scaled(price.prices, regional_percent),
    ...(long_context && { long_context: { ...long_context, prices: scaled(long_context.prices, regional_percent) } }),
  };
}

/**
 * Returns the price for the sum of several calls. The price of long calls is left out, because the length of each call
 * is unknown and the sum would nearly always look like a long call.
 */
export function priceOfSum(model: string, at: number): ModelPrice | undefined {
  const price = (at > 0 ? earlierPrice(model, at) : undefined) ?? todaysPrice(model);
  if (!price) return undefined;
  const { long_context: _long, ...short } = price;
  return short;
}

/**
 * Returns the cost of the call, or `undefined` if the model is not in the table. Uses a given price instead of the
 * table.
 */
export function priceCall(model: string, usage: TokenUsage, given?: ModelPrice): CallCost | undefined {
  const terms = termsOf(model, usage, given);
  if (!terms) return undefined;
  const { tokens, rates } = terms;
  const picos = (part: keyof Tokens): bigint => BigInt(tokens[part]) * BigInt(rates[part]);
  const exact = {
    input: picos("input"),
    output: picos("output"),
    cache_write: picos("cache_write_5m") + picos("cache_write_1h"),
    cache_read: picos("cache_read"),
    server_tool: BigInt(tokens.searches) * BigInt(SEARCH_PICOS),
  };
  return { ...callCost(terms.family, exact), long_context_applied: terms.isLong };
}

/**
 * Like `priceCall`, but returns a number of pico-dollars, because this is faster for many calls. The result is exact up
 * to $9,007.
 */
export function picosOfCall(model: string, usage: TokenUsage, given?: ModelPrice): number | undefined {
  const terms = termsOf(model, usage, given);
  if (!terms) return undefined;
  const { tokens, rates } = terms;
  return (
    tokens.input * rates.input +
    tokens.output * rates.output +
    tokens.cache_write_5m * rates.cache_write_5m +
    tokens.cache_write_1h * rates.cache_write_1h +
    tokens.cache_read * rates.cache_read +
    tokens.searches * SEARCH_PICOS
  );
}

const SEARCH_PICOS = WEB_SEARCH_MICROS * 1_000_000;

/** Counts of tokens by their kind of price. */
type Tokens = Readonly<Record<keyof TokenPrices, number>>;

function termsOf(model: string, usage: TokenUsage, given?: ModelPrice) {
  const found = given ? { price: given, regional: false } : findPrice(model);
  if (!found) return undefined;
  const { price, regional } = found;
  const writes = cacheWrites(usage);
  const tokens = {
    input: count(usage.input_tokens),
    output: count(usage.output_tokens),
    cache_write_5m: writes.fiveMinutes,
    cache_write_1h: writes.oneHour,
    cache_read: count(usage.cache_read_input_tokens),
    searches: count(usage.server_tool_use?.web_search_requests),
  };
  const long = price.long_context;
  const context = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
  const isLong = long !== undefined && context > long.above;
  const percent =
    ((usage.speed === "fast" ? (price.fast_percent ?? 100) : 100) *
      (regional ? (price.regional_percent ?? 100) : 100)) /
    100;
  const listed = isLong ? long.prices : price.prices;
  const rates = percent === 100 && !given ? listed : scaled(listed, percent);
  return { family: price.family, isLong, tokens, rates };
}

/** Scales the prices and rounds them, so that costs stay whole numbers. */
function scaled(prices: TokenPrices, percent: number): TokenPrices {
  const rate = (picos: number): number => Math.round((picos * percent) / 100);
  return {
    input: rate(prices.input),
    output: rate(prices.output),
    cache_read: rate(prices.cache_read),
    cache_write_5m: rate(prices.cache_write_5m),
    cache_write_1h: rate(prices.cache_write_1h),
  };
}

/** The parts of a cost, in pico-dollars. */
interface ExactParts {
  readonly input: bigint;
  readonly output: bigint;
  readonly cache_write: bigint;
  readonly cache_read: bigint;
  readonly server_tool: bigint;
}

function callCost(model: string, parts: ExactParts): Omit<CallCost, "long_context_applied"> {
  const { input, output, cache_write, cache_read, server_tool } = parts;
  const total = input + output + cache_write + cache_read + server_tool;
  return {
    model,
    input_micros: microsOf(input),
    output_micros: microsOf(output),
    cache_write_micros: microsOf(cache_write),
    cache_read_micros: microsOf(cache_read),
    server_tool_micros: microsOf(server_tool),
    total_micros: microsOf(total),
    picos: {
      input: String(input),
      output: String(output),
      cache_write: String(cache_write),
      cache_read: String(cache_read),
      server_tool: String(server_tool),
      total: String(total),
    },
  };
}

/**
 * Returns a cost of 0, for calls that nobody bills. These are simulated calls, and messages that Claude Code wrote
 * without a model.
 */
export function freeCall(model: string): CallCost {
  const none = { input: 0n, output: 0n, cache_write: 0n, cache_read: 0n, server_tool: 0n };
  return { ...callCost(model, none), long_context_applied: false };
}

/**
 * Returns the exact parts of a cost. Facts from before 2026-11-16 have only micro-dollars, which are taken as exact.
 */
export function exactCost(cost: CallCost): ExactParts & { readonly total: bigint } {
  const { picos } = cost;
  const amount = (part: keyof NonNullable<typeof picos>): bigint =>
    picos ? BigInt(picos[part]) : BigInt(cost[`${part}_micros`]) * PICOS_PER_MICRO;
  return {
    input: amount("input"),
    output: amount("output"),
    cache_write: amount("cache_write"),
    cache_read: amount("cache_read"),
    server_tool: amount("server_tool"),
    total: amount("total"),
  };
}

const byFamily: ReadonlyMap<string, ModelPrice> = new Map([
  ...PRICES.map((price) => [price.family, price] as const),
  ...(PRICE_ALIASES.map(([name, family]) => [name, PRICES.find((price) => price.family === family)]) as [
    string,
    ModelPrice,
  ][]),
]);

interface FoundPrice {
  readonly price: ModelPrice;
  readonly regional: boolean;
}

/**
 * Matches names such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `claude-opus-4-1@20250805`,
 * `anthropic/claude-opus-4.5`, `claude-sonnet-4-5[1m]`. The pattern must match the whole name, because a name with an
 * unknown part is another model.
 */
export const MODEL_NAME =
  /^(?:(?:bedrock|vertex|vertex_ai|openrouter)\/)?(?:(?:anthropic|openai|google|x-ai|moonshotai)\/)?(?:(?<region>[a-z]{2,6}(?:-gov)?)\.)?(?:anthropic\.)?(?<family>(?:claude|gpt|gemini|grok|kimi|o\d)-[a-z0-9.-]+?)(?:[-@]\d{8}|-\d{4}-\d\d-\d\d|-latest|@default)?(?:-v\d+)?(?::\d+)?(?:\[1m\])?$/;

/** Returns the price of a model at a regional endpoint, for names without a region. */
export function regionalPrice(model: string): ModelPrice | undefined {
  const price = findPrice(model)?.price;
  if (!price) return undefined;
  const percent = price.regional_percent ?? 100;
  const long = price.long_context && {
    above: price.long_context.above,
    prices: scaled(price.long_context.prices, percent),
  };
  return { family: price.family, prices: scaled(price.prices, percent), ...(long && { long_context: long }) };
}

const known = new Map<string, FoundPrice | undefined>();

function findPrice(model: string): FoundPrice | undefined {
  if (known.has(model)) return known.get(model);
  const found = lookUp(model);
  // The cache has a limit, because model names come from files and a hostile file could fill the memory.
  if (known.size < 1_000) known.set(model, found);
  return found;
}

function lookUp(model: string): FoundPrice | undefined {
  const resource = model.startsWith("arn:") ? model.slice(model.lastIndexOf("/") + 1) : model;
  const groups = resource.length > 200 ? undefined : MODEL_NAME.exec(resource.toLowerCase())?.groups;
  const family = groups?.["family"]?.replaceAll(/(?<=\d)\.(?=\d)/g, "-");
  const price = family === undefined ? undefined : byFamily.get(family);
  if (!price) return undefined;
  const region = groups?.["region"];
  return { price, regional: region !== undefined && region !== "global" };
}

/**
 * Returns cache writes by lifetime. If the counts do not add up to the total, all cache writes count as five-minute
 * writes.
 */
function cacheWrites(usage: TokenUsage): { fiveMinutes: number; oneHour: number } {
  const fiveMinutes = count(usage.cache_creation?.ephemeral_5m_input_tokens);
  const oneHour = count(usage.cache_creation?.ephemeral_1h_input_tokens);
  const total = usage.cache_creation_input_tokens;
  if (total === undefined || total === null || count(total) === fiveMinutes + oneHour) return { fiveMinutes, oneHour };
  return { fiveMinutes: count(total), oneHour: 0 };
}

/** A higher count is an error of a file or server. The limit keeps such a count from breaking a sum. */
const MOST_TOKENS = 1e12;

function count(value: number | null | undefined): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0
    ? Math.min(Math.floor(value), MOST_TOKENS)
    : 0;
}
