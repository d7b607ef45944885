import { describe, expect, test } from "vitest";
import { addPicos, joinedAmount, microsOf, splitAmount } from "../src/money.ts";
import {
  earlierPrice,
  exactCost,
  PRICES,
  PRICES_VERSION,
  priceCall,
  priceOfSum,
  WEB_SEARCH_MICROS,
} from "../src/prices.ts";
import type { CallCost } from "../src/usage.ts";

const none = { input_tokens: 0, output_tokens: 0 };

test("the cost of the example in the agent tables is exact to the micro-dollar", () => {
  const cost = priceCall("claude-sonnet-4-5", {
    input_tokens: 1900,
    output_tokens: 1300,
    cache_creation_input_tokens: 200,
    cache_read_input_tokens: 400,
  });
  expect(cost).toEqual({
    model: "claude-sonnet-4-5",
    input_micros: 5700,
    output_micros: 19500,
    cache_write_micros: 750,
    cache_read_micros: 120,
    server_tool_micros: 0,
    total_micros: 26070,
    picos: {
      input: "5700000000",
      output: "19500000000",
      cache_write: "750000000",
      cache_read: "120000000",
      server_tool: "0",
      total: "26070000000",
    },
    long_context_applied: false,
  });
});

test.each([
  ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
  ["claude-sonnet-4-5[1m]", "claude-sonnet-4-5"],
  ["anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
  ["global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"],
  ["claude-opus-4-1@20250805", "claude-opus-4-1"],
  ["anthropic/claude-opus-4.5", "claude-opus-4-5"],
  ["claude-3-7-sonnet-latest", "claude-3-7-sonnet"],
  ["claude-4-opus-20250514", "claude-opus-4"],
  ["claude-haiku-5-5", "claude-haiku-5-5"],
  ["claude-mythos-preview", "claude-mythos-preview"],
  ["gpt-5.6-sol", "gpt-5-6-sol"],
  ["gpt-5-2025-08-07", "gpt-5"],
  ["openai/gpt-5.1-codex-max", "gpt-5-1-codex-max"],
  ["gpt-5.6", "gpt-5-6-sol"],
  ["gpt-6.1-sol", "gpt-6-1-sol"],
  ["gpt-6.1-terra", "gpt-6-1-terra"],
  ["gemini-3-pro-preview", "gemini-3-pro"],
  ["gemini-2.5-pro", "gemini-2-5-pro"],
  ["google/gemini-2.5-flash-lite", "gemini-2-5-flash-lite"],
  ["gemini-3.8-flash", "gemini-3-8-flash"],
  ["x-ai/grok-4.5", "grok-4-5"],
  ["o4-mini", "o4-mini"],
  ["kimi-k3", "kimi-k3"],
  ["arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5", "claude-opus-5"],
])("%s is priced as %s", (model, family) => {
  expect(priceCall(model, none)?.model).toBe(family);
});

test.each([
  "<synthetic>",
  "",
  "gpt-5.9-none",
  "gpt-5.4-pro",
  "gemini-2.0-pro",
  "grok-build",
  "o3",
  "claude-opus-9",
  "claude-opus-4-10",
  "claude-opus-5-6",
  "claude-haiku-4",
  "my-claude-opus-4-5",
  "claude-opus-4-5-thinking",
  "claude-opus-4-5-2025",
  "a".repeat(100_000),
])("%.40s is unpriced instead of guessed", (model) => {
  expect(priceCall(model, { input_tokens: 5, output_tokens: 5 })).toBeUndefined();
});

test("OpenAI's models have prices for long requests, and since GPT-5.6 a cache write costs 1.25 times the input price", () => {
  const short = priceCall("gpt-5.4", { input_tokens: 1_000, output_tokens: 1_000_000 });
  const long = priceCall("gpt-5.4", { input_tokens: 272_001, output_tokens: 1_000_000 });
  expect([short?.output_micros, long?.output_micros]).toEqual([15_000_000, 22_500_000]);
  const written = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 100_000 };
  expect(priceCall("gpt-5.4", written)?.cache_write_micros).toBe(250_000);
  expect(priceCall("gpt-5.6-sol", written)?.cache_write_micros).toBe(500_000);
});

test.each([
  ["2026-07-10", "gpt-5.6-sol", 5_000_000, 30_000_000],
  ["2026-08-20T23:59:59.999Z", "gpt-5.6", 5_000_000, 30_000_000],
  ["2026-08-21", "gpt-5.6-sol", 4_000_000, 20_000_000],
  ["2026-11-01", "gpt-5.6-sol", 4_000_000, 20_000_000],
  ["2026-07-29", "gpt-5.6-luna", 1_000_000, 6_000_000],
  ["2026-07-30", "gpt-5.6-luna", 200_000, 1_200_000],
  ["2026-07-29", "gpt-5.6-terra", 2_500_000, 15_000_000],
  ["2026-07-30", "gpt-5.6-terra", 2_000_000, 12_000_000],
])("a model call on %s of %s costs what the model cost on that day", (day, model, input, output) => {
  const usage = { input_tokens: 100_000, output_tokens: 100_000 };
  const cost = priceCall(model, usage, earlierPrice(model, Date.parse(day)));
  expect([cost?.input_micros, cost?.output_micros]).toEqual([input / 10, output / 10]);
});

test("before its price fell, cached input of Sonnet 5.5 cost twice as much", () => {
  const usage = { ...none, cache_read_input_tokens: 1_000_000 };
  const on = (day: string) => priceCall("claude-sonnet-5-5", usage, earlierPrice("claude-sonnet-5-5", Date.parse(day)));
  expect([on("2026-10-06"), on("2026-10-07")].map((cost) => cost?.cache_read_micros)).toEqual([200_000, 100_000]);
});

test("an earlier price of a model at a regional endpoint includes the region's surcharge", () => {
  const model = "us.anthropic.claude-sonnet-5-5";
  const usage = { ...none, input_tokens: 1_000_000, cache_read_input_tokens: 1_000_000 };
  const before = priceCall(model, usage, earlierPrice(model, Date.parse("2026-10-06")));
  expect(before).toMatchObject({ input_micros: 2_200_000, cache_read_micros: 220_000 });
});

test.each([
  ["claude-sonnet-5-5", "2026-10-06", 2_000_000],
  ["claude-sonnet-5-5", undefined, 2_000_000],
  ["us.anthropic.claude-sonnet-5-5", "2026-10-06", 2_200_000],
  ["us.anthropic.claude-sonnet-5-5", undefined, 2_200_000],
  ["global.anthropic.claude-sonnet-5-5", undefined, 2_000_000],
])("a sum of calls of %s at %s costs as much as the calls", (model, day, input) => {
  const usage = { ...none, input_tokens: 1_000_000 };
  const cost = priceCall(model, usage, priceOfSum(model, day === undefined ? 0 : Date.parse(day)));
  expect(cost).toMatchObject({ input_micros: input, long_context_applied: false });
});

test("unknown models, models with a constant price and calls without a time have no earlier price", () => {
  expect(earlierPrice("gpt-5.5", 0)).toBeUndefined();
  expect(earlierPrice("nobody-knows", 0)).toBeUndefined();
  expect(earlierPrice("gpt-5.6-sol", Number.NaN)).toBeUndefined();
});

describe("cache writes", () => {
  const split = { ephemeral_5m_input_tokens: 1_000_000, ephemeral_1h_input_tokens: 1_000_000 };

  test("cache writes are priced by their lifetimes if the counts of the lifetimes add up to the total", () => {
    const cost = priceCall("claude-opus-5", { ...none, cache_creation_input_tokens: 2_000_000, cache_creation: split });
    expect(cost?.cache_write_micros).toBe(6_250_000 + 10_000_000);
  });

  test("all cache writes count as five-minute writes if the counts of the lifetimes do not add up to the total", () => {
    const cost = priceCall("claude-opus-5", { ...none, cache_creation_input_tokens: 3_000_000, cache_creation: split });
    expect(cost?.cache_write_micros).toBe(3 * 6_250_000);
  });
});

test("the price for long requests applies to all tokens if input and cached input are over the limit", () => {
  const at = priceCall("claude-sonnet-4-5", { ...none, input_tokens: 1000, cache_read_input_tokens: 199_000 });
  const above = priceCall("claude-sonnet-4-5", { ...none, input_tokens: 1001, cache_read_input_tokens: 199_000 });
  expect(at).toMatchObject({ input_micros: 3000, cache_read_micros: 59_700, long_context_applied: false });
  expect(above).toMatchObject({ input_micros: 6006, cache_read_micros: 119_400, long_context_applied: true });
  expect(priceCall("claude-haiku-5-5", { ...none, input_tokens: 100_001 })?.input_micros).toBe(50_001);
  expect(priceCall("claude-opus-5", { ...none, input_tokens: 900_000 })?.long_context_applied).toBe(false);
});

test("fast mode and regional endpoints change the price of tokens if the factor is known", () => {
  const million = { ...none, input_tokens: 1_000_000 };
  expect(priceCall("claude-opus-4-6", { ...million, speed: "fast" })?.input_micros).toBe(30_000_000);
  expect(priceCall("claude-opus-5-5", { ...million, speed: "fast" })?.input_micros).toBe(8_000_000);
  expect(priceCall("claude-sonnet-5-5", { ...million, speed: "fast" })?.input_micros).toBe(2_000_000);
  expect(priceCall("us.anthropic.claude-opus-5", million)?.input_micros).toBe(5_500_000);
  expect(priceCall("us.anthropic.claude-opus-4-20250514-v1:0", million)?.input_micros).toBe(15_000_000);
});

test("1,000 web searches cost $10", () => {
  const cost = priceCall("claude-opus-5", { ...none, server_tool_use: { web_search_requests: 1000 } });
  expect(cost?.server_tool_micros).toBe(1000 * WEB_SEARCH_MICROS);
  expect(cost?.total_micros).toBe(10_000_000);
});

test("the exact parts of a cost add up to its total for every family", () => {
  for (const { family } of PRICES) {
    const cost = priceCall(family, {
      input_tokens: 7,
      output_tokens: 13,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 11,
    });
    if (!cost) throw new Error(`${family} has no price`);
    const { total, ...parts } = exactCost(cost);
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0n)).toBe(total);
    expect(cost.total_micros).toBe(microsOf(total));
  }
});

test("the sum of 22,000 calls is exact to the pico-dollar for every model", () => {
  const usage = { input_tokens: 7, output_tokens: 13, cache_creation_input_tokens: 3, cache_read_input_tokens: 11 };
  for (const { family, prices } of PRICES) {
    const one = 7 * prices.input + 13 * prices.output + 3 * prices.cache_write_5m + 11 * prices.cache_read;
    const cost = priceCall(family, usage);
    let [sum, counters] = ["0", { micros: 0, rest: 0 }];
    for (let calls = 0; calls < 22_000; calls += 1) {
      const { total } = exactCost(cost as CallCost);
      sum = addPicos(sum, total);
      const { micros, rest } = splitAmount(total);
      counters = { micros: counters.micros + micros, rest: counters.rest + rest };
    }
    expect(sum).toBe(String(22_000 * one));
    expect(joinedAmount(counters)).toBe(BigInt(sum));
  }
});

test("an impossible token count does not break a sum", () => {
  const cost = priceCall("claude-opus-4-7", { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 1, speed: "fast" });
  expect(Number.isSafeInteger(cost?.total_micros)).toBe(true);
});

test("counters that are missing, negative or not numbers count as 0", () => {
  const broken = { input_tokens: -5, output_tokens: Number.NaN, cache_read_input_tokens: null, cache_creation: null };
  expect(priceCall("claude-opus-5", broken)?.total_micros).toBe(0);
});

test("the version of the price table is a date", () => {
  expect(PRICES_VERSION).toMatch(/^\d{4}-\d{2}-\d{2}$/);
});
