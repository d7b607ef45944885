/** The price table in SQL: the rates of a model, and the cost of a call. A test compares this cost with `priceCall`. */
import { SUM } from "@skein/history/sources";
import {
  MODEL_NAME,
  PRICE_ALIASES,
  PRICES,
  type ModelPrice,
  type TokenPrices,
  WEB_SEARCH_MICROS,
} from "@skein/protocol/prices";

const rates = ({ input, output, cache_write_5m, cache_write_1h, cache_read }: TokenPrices): string =>
  `{input: ${input}::BIGINT, output: ${output}::BIGINT, write_5m: ${cache_write_5m}::BIGINT, write_1h: ${cache_write_1h}::BIGINT, read: ${cache_read}::BIGINT}`;

const row = (name: string, { prices, long_context, fast_percent = 100, regional_percent = 100 }: ModelPrice): string =>
  `'${name}': {short: ${rates(prices)}, long: ${rates(long_context?.prices ?? prices)}, ` +
  `above: ${long_context?.above ?? "NULL"}::BIGINT, fast: ${fast_percent}, regional: ${regional_percent}}`;

/** The names of all families of models, each with the price of the family. */
const named = PRICES.flatMap((price) => [
  { name: price.family, price },
  ...PRICE_ALIASES.flatMap(([name, family]) => (family === price.family ? [{ name, price }] : [])),
]);

const rows = named.flatMap(({ name, price }) => [
  row(name, price),
  ...(price.earlier ?? []).map(({ until, price: before }) => row(`${name} until ${until}`, before)),
]);

/** Chooses the row of prices for a call. A call before a change of the price gets the row of the earlier price. */
const dated = named.flatMap(({ name, price }) =>
  (price.earlier ?? []).map(
    ({ until }) => `WHEN family = '${name}' AND at_ms < ${Date.parse(until)} THEN '${name} until ${until}'`,
  ),
);

/** The pattern with numbered groups for DuckDB: the region is group 1 and the family is group 2. */
const NAME = MODEL_NAME.source.replaceAll(/\?<\w+>/g, "");

/** Replaces dots between digits with dashes. Runs twice, because the matches of one run do not overlap. */
const dashed = (text: string): string =>
  [1, 2].reduce((inner) => `regexp_replace(${inner}, '(\\d)\\.(\\d)', '\\1-\\2', 'g')`, text);

/** Rounds the scaled rate to an integer first, so that its product with the tokens is exact. */
const rate = (name: string): string =>
  `round(if(is_long, rates.long.${name}, rates.short.${name}) * if(fast, rates.fast, 100) * rates.percent / 10000)::HUGEINT`;

/** The prices are a variable, so that DuckDB parses them once for all views. */
export const PRICES_SQL = `
SET VARIABLE skein_prices = MAP {${rows.join(", ")}};
CREATE MACRO skein.dated_family(family, at_ms) AS CASE ${dated.join(" ")} ELSE family END;
CREATE MACRO skein.family_rates(name, at_ms) AS CASE WHEN name.family <> '' THEN struct_insert(
  getvariable('skein_prices')[skein.dated_family(${dashed("name.family")}, at_ms)],
  percent := if(name.region IN ('', 'global'), 100, getvariable('skein_prices')[${dashed("name.family")}].regional)) END;
-- NULL if the price table lacks the model.
CREATE MACRO skein.rates(model, at_ms) AS skein.family_rates(regexp_extract(
  lower(if(starts_with(model, 'arn:'), regexp_extract(model, '[^/]*$'), model)), '${NAME}', ['region', 'family']), at_ms);
`;

/**
 * Adds the exact cost as `picos` (pico-dollars) to rows with the columns `rates`, `input`, `output`, `cache_write`,
 * `cache_read`, `write_5m`, `write_1h`, `searches`, `fast` and `id`. A row with the sum of several calls has the usual
 * prices, never those of a long context. Cache writes are split by lifetime only if the two parts add up to
 * `cache_write`.
 */
export function priced(rows: string): string {
  return `
SELECT *, input * ${rate("input")} + output * ${rate("output")} + short_write * ${rate("write_5m")}
  + long_write * ${rate("write_1h")} + cache_read * ${rate("read")} + searches * ${WEB_SEARCH_MICROS * 1_000_000}::HUGEINT AS picos
FROM (
  SELECT *, if(write_5m + write_1h = cache_write, write_5m, cache_write) AS short_write,
    if(write_5m + write_1h = cache_write, write_1h, 0) AS long_write,
    coalesce(input + cache_read + cache_write > rates.above, false) AND NOT starts_with(id, '${SUM}') AS is_long
  FROM (${rows})
)`;
}
