import { DuckDBScalarFunction, VARCHAR } from "@duckdb/node-api";
import { humanPrompt } from "@skein/history/format";

/**
 * Creates the SQL function `skein_prompt(message)`. It returns the text that a person typed in a user message, or NULL.
 * The history library has the rule for this.
 */
export function promptFunction(): DuckDBScalarFunction {
  return DuckDBScalarFunction.create({
    name: "skein_prompt",
    parameterTypes: [VARCHAR],
    returnType: VARCHAR,
    mainFunction: (_info, input, output) => {
      for (const [at, [message]] of input.getRows().entries()) output.setItem(at, typed(message));
      output.flush();
    },
  });
}

function typed(message: unknown): string | null {
  if (typeof message !== "string") return null;
  return humanPrompt({ type: "user", message: JSON.parse(message) as unknown }) ?? null;
}
