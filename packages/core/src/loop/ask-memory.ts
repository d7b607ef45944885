import { type Failure, JsonObject } from "@skein/protocol";
import { z } from "zod";
import { problemOf } from "./run-tool.ts";

/**
 * The formats of what the functions of an agent memory return. An agent memory may be a user's code, so its results are
 * checked.
 */
export const MEMORY_ANSWERS = {
  retrieve: z.object({ found: z.int().nonnegative(), memories: z.array(z.string()) }),
  update: z.int().nonnegative(),
  hook: JsonObject.refine(isWritable, "Expected an object that can be written as JSON."),
};

function isWritable(value: JsonObject): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Calls an agent memory. If it fails or its result has the wrong format, returns `otherwise` and the error, so that the
 * run can continue without the memory.
 */
export async function askMemory<Answer>(
  shape: z.ZodType<Answer>,
  otherwise: Answer,
  call: () => Promise<Answer> | undefined,
): Promise<readonly [Answer, { failed?: true; error?: Failure }]> {
  try {
    return [parsed(shape, (await call()) ?? otherwise), {}];
  } catch (error) {
    return [otherwise, { failed: true, error: { code: "memory_error", message: problemOf(error) } }];
  }
}

function parsed<Answer>(shape: z.ZodType<Answer>, answer: unknown): Answer {
  const result = shape.safeParse(answer);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.length ? `${issue.path.join(".")}: ` : "";
  throw new Error(`The memory's answer has the wrong format. ${where}${issue?.message ?? ""}`);
}
