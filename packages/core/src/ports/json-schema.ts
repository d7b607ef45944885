import { type JsonObject, KnownError } from "@skein/protocol";
import { z } from "zod";

/** A check made from a JSON Schema. `what` names the schema in the error, for example `input schema of the tool "add"`. */
export function fromJsonSchema(what: string, schema: JsonObject): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (error) {
    throw new KnownError("invalid", `The ${what} is not a JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}
