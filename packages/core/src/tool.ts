import { type Content, type ContentBlock, type JsonObject, KnownError } from "@skein/protocol";
import { z } from "zod";
import { imageProblem } from "./content-problem.ts";

/** What a tool is told about the call it serves. */
export interface ToolContext {
  readonly sessionId: string;
  readonly runId: string;
  readonly toolUseId: string;
  /** The same for every attempt of this call: hand it to whatever should act only once. */
  readonly idempotencyKey: string;
  readonly workingDirectory: string | null;
  readonly signal: AbortSignal;
}

/** Something the model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Who does it: this process, the client, a person, or another agent. */
  readonly executor: "backend" | "frontend" | "question" | "subagent";
  /** May it run again after a crash in the middle? `once` is the safe answer, and the default. */
  readonly policy: "once" | "repeatable";
  /** For a backend tool: when it is given up. For one that waits for somebody: when the wait ends. */
  readonly timeoutMs: number | null;
  /** Whether a person must allow this call first. */
  readonly needsApproval: (input: unknown) => boolean;
  /** Checks the input; throws a sentence for the model. */
  readonly parse: (input: unknown) => unknown;
  readonly run: (input: unknown, context: ToolContext) => Promise<unknown>;
  /** The agent behind a subagent tool. */
  readonly subagent?: string;
  /** What was noticed about where it comes from (a server that died, tools that were left out); grows while it is used. */
  readonly notices?: readonly string[];
}

/** What a tool is given: as its zod schema says, or any object for a JSON Schema. */
export type InputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : JsonObject;

export interface ToolOptions<Schema extends z.ZodType | JsonObject> {
  readonly name: string;
  readonly description: string;
  /** A zod schema, or a JSON Schema as it is. */
  readonly input: Schema;
  readonly executor?: Tool["executor"];
  readonly policy?: Tool["policy"];
  readonly timeoutMs?: number;
  readonly needsApproval?: boolean | ((input: InputOf<Schema>) => boolean);
  readonly run?: (input: InputOf<Schema>, context: ToolContext) => unknown;
  readonly subagent?: string;
}

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Makes a tool from a function and the schema of its input. */
export function defineTool<Schema extends z.ZodType | JsonObject>(options: ToolOptions<Schema>): Tool {
  const { name, description, executor = "backend", policy = "once", timeoutMs = null, needsApproval = false } = options;
  if (!NAME.test(name))
    throw new KnownError("invalid", `"${name}" is no name for a tool: it has 1 to 128 letters, digits, _ or -.`);
  if (executor === "backend" && !options.run)
    throw new KnownError("invalid", `The tool "${name}" needs a run function.`);
  const { inputSchema, parse } = inputOf(name, options.input);
  return {
    name,
    description,
    inputSchema,
    executor,
    policy,
    timeoutMs,
    needsApproval: (input) =>
      typeof needsApproval === "function" ? asks(() => needsApproval(parse(input) as InputOf<Schema>)) : needsApproval,
    parse,
    run: async (input, context) => options.run?.(input as InputOf<Schema>, context),
    ...(options.subagent !== undefined && { subagent: options.subagent }),
  };
}

/** A rule that fails has not said no: then a person decides. */
function asks(rule: () => boolean): boolean {
  try {
    return rule();
  } catch {
    return true;
  }
}

function inputOf(name: string, input: z.ZodType | JsonObject): Pick<Tool, "inputSchema" | "parse"> {
  if (input instanceof z.ZodType) {
    const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
    if (inputSchema.type !== "object")
      throw new KnownError(
        "invalid",
        `The input of the tool "${name}" must be an object, and its schema says ${String(inputSchema.type)}.`,
      );
    return { inputSchema, parse: (value) => parseInput(input, value) };
  }
  if (typeof input !== "object" || input === null || input["type"] !== "object")
    throw new KnownError("invalid", `The input schema of the tool "${name}" is no JSON Schema of an object.`);
  const schema = fromJsonSchema(name, input);
  return { inputSchema: input, parse: (value) => parseInput(schema, value) };
}

function fromJsonSchema(name: string, schema: JsonObject): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (error) {
    throw new KnownError(
      "invalid",
      `The input schema of the tool "${name}" is no JSON Schema: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

function parseInput(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".") || "input"}: ${message}`);
  throw new Error(`The input does not fit the tool's schema. ${problems.join(" ")}`);
}

/** The most characters of a result that the model is shown. */
export const RESULT_LIMIT = 100_000;

/** What a tool returned, as the content of a tool_result: text and blocks as they are, bytes and giants as a note. */
export function resultContent(output: unknown): Content {
  if (typeof output === "string") return shortened(output);
  if (output === undefined || output === null) return "";
  if (typeof output === "bigint") return String(output);
  if (output instanceof ArrayBuffer) return resultContent(new Uint8Array(output));
  if (output instanceof Uint8Array) return `[The tool returned ${output.byteLength} bytes that are not text.]`;
  if (Array.isArray(output) && output.length > 0 && output.every(isBlock)) return sizedBlocks(output);
  return shortened(JSON.stringify(output) ?? "");
}

function isBlock(value: unknown): value is ContentBlock {
  const type = (value as { type?: unknown } | null)?.type;
  return type === "text" || type === "image" || type === "document" || type === "search_result";
}

function sizedBlocks(blocks: ContentBlock[]): Content {
  return blocks
    .filter(({ type, text }) => type !== "text" || text !== "")
    .map((block) => {
      // A picture that the model cannot read would fail this call and every later one.
      const problem = imageProblem(block);
      if (problem !== undefined) return { type: "text", text: `[The tool returned an image that is none. ${problem}]` };
      return typeof block["text"] === "string" ? { ...block, text: shortened(block["text"]) } : block;
    });
}

function shortened(text: string): string {
  if (text.length <= RESULT_LIMIT) return text;
  return `${text.slice(0, RESULT_LIMIT).toWellFormed()}\n[Shortened: the result has ${text.length} characters, and the first ${RESULT_LIMIT} are shown.]`;
}
