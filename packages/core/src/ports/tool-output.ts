import { type JsonObject, KnownError } from "@skein/protocol";
import { sentencesOf } from "../model/output-schema.ts";
import { fromJsonSchema } from "./json-schema.ts";

/** The schema of a tool's result: a zod 4 schema, any Standard Schema, or a JSON Schema. */
export type ToolOutput = StandardSchema | JsonObject;

interface StandardSchema {
  readonly "~standard": {
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined;
    readonly validate: (value: unknown) => Checked | Promise<Checked>;
  };
}

type Checked =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

interface TypesOf<Input, Output> {
  readonly "~standard": { readonly types?: { readonly input: Input; readonly output: Output } | undefined };
}

/** What the function of a tool returns. */
export type Returned<Schema> = Schema extends TypesOf<infer Input, unknown> ? Input : unknown;

/** The type of a tool's `output` in results and events. */
export type OutputOf<Schema> =
  Schema extends TypesOf<unknown, infer Output> ? Output : Schema extends JsonObject ? unknown : undefined;

/** A result in the forms for the log (`output`) and for the model (`content`). */
export interface CheckedOutput {
  readonly output: unknown;
  readonly content: string;
}

/**
 * The most characters of a result with a schema. A longer result would have to be cut, and would no longer be valid
 * JSON.
 */
const MOST_CHARACTERS = 100_000;

/**
 * Makes the check of a tool's results by their schema. The check throws an error whose message is a sentence for the
 * model.
 */
export function outputReader(tool: string, schema: ToolOutput): (value: unknown) => Promise<CheckedOutput> {
  const { validate } = standardOf(tool, schema)["~standard"];
  return async (value) => {
    const checked = await validate(value);
    if (checked.issues)
      throw new Error(
        `The tool has run, but its result does not fit its output schema. ${sentencesOf(checked.issues, "result")} The tool returned: ${shown(value)}`,
      );
    const content = JSON.stringify(checked.value);
    if (content === undefined) throw new Error("The tool has run, but returned nothing that JSON can represent.");
    if (content.length > MOST_CHARACTERS)
      throw new Error(
        `The tool has run, but its result has ${content.length} characters as JSON. A result with an output schema may have ${MOST_CHARACTERS}.`,
      );
    return { output: JSON.parse(content) as unknown, content };
  };
}

function standardOf(tool: string, schema: ToolOutput): StandardSchema {
  if (typeof schema !== "object" || schema === null)
    throw new KnownError(
      "invalid",
      `The output of the tool "${tool}" is not a schema. Expected zod 4 or a JSON Schema.`,
    );
  if (isStandard(schema)) return schema;
  return fromJsonSchema(`output schema of the tool "${tool}"`, schema);
}

function isStandard(schema: ToolOutput): schema is StandardSchema {
  return "~standard" in schema;
}

/** Returns the beginning of a value, for an error. */
function shown(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 2000).toWellFormed();
  } catch {
    return `a ${typeof value} that JSON cannot represent`;
  }
}
