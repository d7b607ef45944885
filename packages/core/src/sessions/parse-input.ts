import { KnownError } from "@skein/protocol";
import type { z } from "zod";

/** Parses input of a caller: what does not fit is an `invalid` with the place named. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.length ? `${issue.path.join(".")}: ` : "";
  throw new KnownError("invalid", `${place}${issue?.message ?? "The input is not valid."}`, {
    details: { issues: result.error.issues.map(({ path, message }) => ({ path: path.join("."), message })) },
  });
}
