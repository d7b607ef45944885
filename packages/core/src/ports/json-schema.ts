import { type JsonObject, KnownError } from "@skein/protocol";
import { z } from "zod";

/**
 * Makes a check from a JSON Schema. Errors name the schema with `what`, for example `input schema of the tool "add"`.
 */
export function fromJsonSchema(what: string, schema: JsonObject): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (error) {
    throw new KnownError("invalid", `The ${what} is not a JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}
