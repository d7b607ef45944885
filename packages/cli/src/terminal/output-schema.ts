import { readFileSync } from "node:fs";
import type { AgentOptions } from "skein";
import { z } from "zod";
import { UsageError } from "./exit-codes.ts";
import { fileSentence, isFileError } from "./file-error.ts";

/** Reads from a file the JSON Schema that the agent's answers must match. */
export function outputSchemaIn(file: string): NonNullable<AgentOptions["output"]> {
  const schema = jsonIn(file);
  try {
    const { validate } = z.fromJSONSchema(schema)["~standard"];
    return { "~standard": { validate, jsonSchema: { input: () => schema } } };
  } catch (error) {
    throw new UsageError(`${file} is not a JSON Schema: ${(error as Error).message}`);
  }
}

function jsonIn(file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (isFileError(error)) throw new UsageError(fileSentence(error));
    throw new UsageError(`${file} cannot be read as JSON: ${(error as Error).message}.`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(
    `${file} is not a JSON Schema. Expected an object such as {"type": "object", "properties": {…}}.`,
  );
}
