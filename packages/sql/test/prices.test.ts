import { earlierPrice, PRICE_ALIASES, PRICES, priceCall } from "@skein/protocol";
import { expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

const NAMES = PRICES.map(({ family }) => family).flatMap((family) => [
  family,
  `${family}-20250929`,
  `us.anthropic.${family}-20250929-v1:0`,
  `global.anthropic.${family}`,
  `anthropic/${family.replaceAll(/(?<=\d)-(?=\d)/g, ".")}`,
  `arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.${family}-v1:0`,
  `${family}[1m]`,
  `${family.toUpperCase()}@20250805`,
]);

const USAGES = [
  { input_tokens: 7, output_tokens: 11 },
  {
    input_tokens: 3,
    output_tokens: 1,
    cache_creation_input_tokens: 1_234_567,
    cache_read_input_tokens: 89,
    speed: "fast",
  },
  {
    input_tokens: 150_001,
    output_tokens: 65_535,
    cache_creation_input_tokens: 333,
    cache_read_input_tokens: 99_999,
    cache_creation: { ephemeral_5m_input_tokens: 111, ephemeral_1h_input_tokens: 222 },
    server_tool_use: { web_search_requests: 2 },
  },
];

/** Before, between and after the days on which prices changed. */
const TIMES = ["2026-07-20T00:00:00.000Z", "2026-08-22T00:00:00.000Z", undefined];

test("SQL and priceCall give the same cost for every name of every model", async () => {
  const root = folder();
  const names = [...NAMES, ...PRICE_ALIASES.map(([name]) => name), "nobody-knows", "claude-", "claude-4-opus-20250514"];
  const calls = names.flatMap((model) => USAGES.map((usage, at) => ({ model, usage, timestamp: TIMES[at] })));
  write(
    root,
    "projects/p/a.jsonl",
    calls.map(({ model, usage, timestamp }, at) => ({
      type: "assistant",
      timestamp,
      uuid: `${at}`,
      message: { id: `m${at}`, model, usage },
    })),
  );
  const rows = await ask(await open(root), "SELECT response_id, model, cost_micros FROM claude.responses");
  const found = new Map(rows.map(({ response_id, model, cost_micros }) => [response_id, [model, cost_micros]]));
  expect(found.size).toBe(calls.length);
  for (const [at, { model, usage, timestamp }] of calls.entries()) {
    const given = earlierPrice(model, Date.parse(timestamp ?? ""));
    expect(found.get(`m${at}`)).toEqual([model, priceCall(model, usage, given)?.total_micros ?? null]);
  }
});
