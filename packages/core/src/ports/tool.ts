import { type Content, type ContentBlock, type JsonObject, KnownError } from "@skein/protocol";
import { z } from "zod";
import { fromJsonSchema } from "./json-schema.ts";
import type { Workplace } from "./sandbox.ts";
import { type OutputOf, type Returned, type ToolOutput, outputReader } from "./tool-output.ts";
import { imageProblem, isBlank, isResultBlock } from "../sessions/content-problem.ts";

/** The call for which a tool runs. */
export interface ToolContext {
  readonly sessionId: string;
  readonly runId: string;
  readonly toolUseId: string;
  /** The same key for every attempt of this call. Pass it to services that must act only once. */
  readonly idempotencyKey: string;
  readonly workingDirectory: string | null;
  /**
   * The folder and sandbox for programs of this session. Undefined in a process that does not restrict programs, such
   * as a program with one agent.
   */
  readonly workplace?: (() => Promise<Workplace>) | undefined;
  readonly signal: AbortSignal;
}

/** A tool that the model may call. */
export interface Tool<Name extends string = string, Output = unknown> {
  readonly name: Name;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Who produces the result: this process, the client, a person, or another agent. */
  readonly executor: "backend" | "frontend" | "question" | "subagent";
  /** Whether the call may run again after a crash in the middle. `once`, the default, never runs a call twice. */
  readonly policy: "once" | "repeatable";
  /** The time limit of a call, or of the wait for its answer. Null means no limit. */
  readonly timeoutMs: number | null;
  /** Whether a person must allow this call before it runs. May be asynchronous. */
  readonly needsApproval: (input: unknown) => boolean | Promise<boolean>;
  /** Returns the checked input, or throws an error whose message is a sentence for the model. */
  readonly parse: (input: unknown) => unknown;
  /** Runs a backend tool with checked input. The model sees the result, or the message of the error that it throws. */
  readonly run: (input: unknown, context: ToolContext) => Promise<unknown>;
  /**
   * Checks what `run` returned, for a tool with an output schema. Throws an error whose message is a sentence for the
   * model.
   */
  readonly readOutput?: (value: unknown) => Promise<{ readonly output: Output; readonly content: string }>;
  /** The agent that a subagent tool calls. */
  readonly subagent?: string;
  /**
   * Problems of the MCP server that runs the tool (it died, some tools were left out). The list grows while the tool is
   * in use.
   */
  readonly notices?: readonly string[];
}

/** The type of a tool's input: from its zod schema, or any object for a JSON Schema. */
type InputOf<Schema> = Schema extends z.core.$ZodType ? z.output<Schema> : JsonObject;

/** The options of `defineTool`; see the fields of `Tool`. */
export interface ToolOptions<
  Schema extends z.core.$ZodType | JsonObject,
  Name extends string = string,
  Output extends ToolOutput | undefined = undefined,
> {
  readonly name: Name;
  readonly description: string;
  /** A zod schema or a JSON Schema. */
  readonly input: Schema;
  /**
   * The schema of the value that `run` returns. The model reads the value as JSON. Results and events have the value in
   * `output`, with its type. If a value does not fit, the model reads an error. Values must be plain JSON.
   */
  readonly output?: Output;
  readonly executor?: Tool["executor"];
  readonly policy?: Tool["policy"];
  readonly timeoutMs?: number;
  readonly needsApproval?: boolean | ((input: InputOf<Schema>) => boolean | Promise<boolean>);
  readonly run?: (input: InputOf<Schema>, context: ToolContext) => Returned<Output> | Promise<Returned<Output>>;
  readonly subagent?: string;
}

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const OPTIONS: readonly string[] = [
  "name",
  "description",
  "input",
  "output",
  "executor",
  "policy",
  "timeoutMs",
  "needsApproval",
  "run",
  "subagent",
] satisfies (keyof ToolOptions<JsonObject>)[];

/** Makes a tool from a function and the schema of its input. Throws `invalid` for a wrong name, option or schema. */
export function defineTool<
  Schema extends z.core.$ZodType | JsonObject,
  const Name extends string,
  Output extends ToolOutput | undefined = undefined,
>(options: ToolOptions<Schema, Name, Output>): Tool<Name, OutputOf<Output>> {
  const { name, description, executor = "backend", policy = "once", timeoutMs = null, needsApproval = false } = options;
  if (!NAME.test(name))
    throw new KnownError("invalid", `"${name}" is not a valid tool name. Expected 1 to 128 letters, digits, _ or -.`);
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined)
    throw new KnownError("invalid", `The tool "${name}" has no option "${unknown}". It has ${OPTIONS.join(", ")}.`);
  if (executor === "backend" && typeof options.run !== "function")
    throw new KnownError("invalid", `The tool "${name}" needs a run function.`);
  if (timeoutMs !== null && !(timeoutMs > 0))
    throw new KnownError("invalid", `The timeoutMs of the tool "${name}" must be more than 0 milliseconds.`);
  if (options.output !== undefined && executor !== "backend")
    throw new KnownError(
      "invalid",
      `The tool "${name}" cannot have an output schema: its result does not come from this process. Leave out \`output\`.`,
    );
  const readOutput = options.output && outputReader(name, options.output);
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
    ...(readOutput && { readOutput: readOutput as NonNullable<Tool<Name, OutputOf<Output>>["readOutput"]> }),
    ...(options.subagent !== undefined && { subagent: options.subagent }),
  };
}

/** Asks a rule whether a person must approve a call. If the rule throws, the person is asked. */
function asks(rule: () => boolean | Promise<boolean>): boolean | Promise<boolean> {
  try {
    const answer = rule();
    return answer instanceof Promise ? answer.then(Boolean, () => true) : answer;
  } catch {
    return true;
  }
}

function inputOf(name: string, input: z.core.$ZodType | JsonObject): Pick<Tool, "inputSchema" | "parse"> {
  if (input instanceof z.core.$ZodType) {
    const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
    if (inputSchema.type !== "object")
      throw new KnownError(
        "invalid",
        `The input of the tool "${name}" must be one object. Put anything else into a field: z.object({ value: … }).`,
      );
    return { inputSchema, parse: (value) => parseToolInput(input, value) };
  }
  if (typeof input === "object" && Object.hasOwn(input ?? {}, "_def"))
    throw new KnownError(
      "invalid",
      `The input of the tool "${name}" is a schema of zod 3. Use zod 4, or a JSON Schema.`,
    );
  if (typeof input !== "object" || input?.["type"] !== "object")
    throw new KnownError("invalid", `The input schema of the tool "${name}" is not a JSON Schema of an object.`);
  const schema = fromJsonSchema(`input schema of the tool "${name}"`, input);
  return { inputSchema: input, parse: (value) => parseToolInput(schema, value) };
}

function parseToolInput(schema: z.core.$ZodType, value: unknown): unknown {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".") || "input"}: ${message}`);
  throw new Error(`The input does not fit the tool's schema. ${problems.join(" ")}`);
}

/** The most characters of a result that the model is shown. */
const RESULT_LIMIT = 100_000;

/**
 * Returns the output of a tool as the content of a `tool_result`. Text and content blocks stay as they are. Other
 * values become JSON, and bytes become a note. Text over 100,000 characters is shortened. The function never throws.
 */
export function resultContent(output: unknown): Content {
  if (typeof output === "string") return shortened(output);
  if (output === undefined || output === null) return "";
  if (typeof output === "bigint") return String(output);
  if (output instanceof Error) return shortened(output.message);
  if (output instanceof ArrayBuffer || ArrayBuffer.isView(output))
    return `[The tool returned ${output.byteLength} bytes that are not text.]`;
  if (Array.isArray(output) && output.length > 0 && output.every(isResultBlock)) return sizedBlocks(output);
  return shortened(asJson(output));
}

/**
 * Returns the output as JSON, or a sentence if JSON cannot represent it. This is no failure, because the tool has done
 * its work.
 */
function asJson(output: unknown): string {
  try {
    const json = JSON.stringify(output, (_, value: unknown) => {
      if (typeof value === "bigint") return String(value);
      if (value instanceof Map) return [...value];
      return value instanceof Set ? [...value] : value;
    });
    // A response or a stream would look like an empty object in JSON.
    if (json !== undefined && (json !== "{}" || isPlain(output))) return json;
    return `[The tool returned a ${kindOf(output)}, which is not text. Return its text, or an object of plain values.]`;
  } catch (error) {
    return `[The tool returned something that cannot be shown as JSON: ${(error as Error).message.split("\n")[0]}]`;
  }
}

function isPlain(value: unknown): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  return typeof value === "object" ? (value?.constructor?.name ?? "object") : typeof value;
}

function sizedBlocks(blocks: ContentBlock[]): Content {
  return blocks
    .filter((block) => !isBlank(block))
    .map((block) => {
      // An image that the model cannot read would make this call and every later one fail.
      const problem = imageProblem(block);
      if (problem !== undefined)
        return { type: "text", text: `[The tool returned an image that is not valid. ${problem}]` };
      return typeof block["text"] === "string" ? { ...block, text: shortened(block["text"]) } : block;
    });
}

function shortened(text: string): string {
  if (text.length <= RESULT_LIMIT) return text;
  return `${text.slice(0, RESULT_LIMIT).toWellFormed()}\n[Shortened: the result has ${text.length} characters, and the first ${RESULT_LIMIT} are shown.]`;
}
