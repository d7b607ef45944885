import { BIGINT, BOOLEAN, DOUBLE, DuckDBScalarFunction, VARCHAR } from "@duckdb/node-api";
import { priceCall } from "@skein/protocol";

/** `skein_price(model, …)`: micro-dollars of one call by the one price table that everything uses; NULL if it has none. */
export function priceFunction(): DuckDBScalarFunction {
  return DuckDBScalarFunction.create({
    name: "skein_price",
    parameterTypes: [VARCHAR, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BOOLEAN],
    returnType: BIGINT,
    mainFunction: (_info, input, output) => {
      const rows = input.getRows();
      for (const [at, [model, ...numbers]] of rows.entries()) {
        const [uncached = 0, out = 0, written = 0, read = 0, fiveMinutes = 0, oneHour = 0, searches = 0] =
          numbers.map(Number);
        const cost = priceCall(String(model), {
          input_tokens: uncached,
          output_tokens: out,
          cache_creation_input_tokens: written,
          cache_read_input_tokens: read,
          cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
          server_tool_use: { web_search_requests: searches },
          speed: numbers[7] === true ? "fast" : "standard",
        });
        output.setItem(at, cost === undefined ? null : BigInt(cost.total_micros));
      }
      output.flush();
    },
  });
}
