import { type JsonObject, KnownError, isJsonObject } from "@skein/protocol";
import { z } from "zod";
import { parsedOrUndefined } from "./parsed-json.ts";

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** The schema of an answer: a zod 4 schema, or any Standard Schema that can give its JSON Schema. */
export interface OutputSchema<Output> {
  readonly "~standard": {
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly jsonSchema?: { readonly input: (options: { readonly target: "draft-2020-12" }) => JsonObject } | undefined;
  };
}

/** Checks an answer. `read` returns the value of the answer, or a sentence for the model about the problem. */
export interface OutputCheck<Output> {
  readonly schema: JsonObject;
  read(answer: string): Promise<{ readonly output: Output } | { readonly problem: string }>;
}

/** Creates the check for a schema in the code of a program. Throws `invalid` if the schema has no JSON Schema. */
export function outputCheck<Output>(schema: OutputSchema<Output>): OutputCheck<Output> {
  const json = asJsonSchema(schema);
  return { schema: json, read: (answer) => readWith((value) => schema["~standard"].validate(value), answer) };
}

/** Creates the check for a JSON Schema. Agents in the store have such a schema. */
export function jsonOutputCheck(schema: JsonObject): OutputCheck<unknown> {
  const parsed = z.fromJSONSchema(schema);
  return { schema, read: (answer) => readWith((value) => parsed["~standard"].validate(value), answer) };
}

/** Rejects everything but a JSON Schema of an object, because providers accept nothing else. */
export function checkOutputSchema(schema: JsonObject): void {
  const place = "output_schema";
  if (schema["type"] !== "object")
    throw new KnownError(
      "invalid",
      `${place}: Expected a JSON Schema whose root is an object. Put anything else into a field.`,
    );
  try {
    z.fromJSONSchema(schema);
  } catch (error) {
    throw new KnownError("invalid", `${place}: Expected a JSON Schema. ${(error as Error).message}`, { cause: error });
  }
}

function asJsonSchema(schema: OutputSchema<unknown>): JsonObject {
  const say = schema["~standard"]?.jsonSchema?.input;
  if (say === undefined && !(schema instanceof z.core.$ZodType))
    throw new KnownError(
      "invalid",
      "output: Expected a zod 4 schema, or a Standard Schema that can give its JSON Schema.",
    );
  const { $schema: _, ...json } =
    schema instanceof z.core.$ZodType
      ? z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })
      : (say as NonNullable<typeof say>)({ target: "draft-2020-12" });
  checkOutputSchema(json);
  return json;
}

/** Returns what is wrong with a value according to a JSON Schema, as a sentence. Undefined if the value fits. */
export function misfitOf(schema: JsonObject, value: unknown): string | undefined {
  const { error } = z.fromJSONSchema(schema).safeParse(value);
  return error && sentencesOf(error.issues);
}

async function readWith<Output>(
  validate: OutputSchema<Output>["~standard"]["validate"],
  answer: string,
): ReturnType<OutputCheck<Output>["read"]> {
  const value = jsonIn(answer);
  if (value === undefined) return { problem: "The answer is not JSON. Answer with one JSON object and nothing else." };
  const result = await validate(value);
  if (!result.issues) return { output: result.value };
  return {
    problem: `The answer does not fit its schema. ${sentencesOf(result.issues)} Answer with the whole JSON object again.`,
  };
}

/** Describes the problems of a value in sentences. `whole` is the name of the value in these sentences. */
export function sentencesOf(issues: NonNullable<Validated<unknown>["issues"]>, whole = "answer"): string {
  return issues
    .map(({ path = [], message }) => `${path.map(nameOf).join(".") || whole}: ${message}.`.replace(/\.\.$/, "."))
    .join(" ");
}

function nameOf(step: unknown): string {
  return String(isJsonObject(step) ? step["key"] : step);
}

/** Parses the JSON of an answer. Undefined if the answer has no JSON. */
function jsonIn(answer: string): unknown {
  return parsedOrUndefined(jsonTextIn(answer) ?? "");
}

/**
 * Returns the JSON in the text of an answer. The JSON is the whole text, or an object after other text or in a code
 * fence. Undefined if the answer has no JSON. An object inside another object is never used, because the answer may
 * have been cut off.
 */
export function jsonTextIn(answer: string): string | undefined {
  const text = answer.trim();
  if (parsedOrUndefined(text) !== undefined) return text;
  const atLineStart = text.lastIndexOf("\n{") + 1;
  const begin = atLineStart > 0 ? atLineStart : text.indexOf("{");
  if (text.startsWith("{") || begin === -1) return undefined;
  const inner = text.slice(begin, text.lastIndexOf("}") + 1);
  return parsedOrUndefined(inner) === undefined ? undefined : inner;
}
