/** The script in a prompt: the model's answer at each step. README.md has the reference. */
import { ApiError } from "./api-error.ts";
import { isObject, type Block, type JsonObject, type StopReason, type Usage } from "./wire.ts";

/** One answer of the model. Content is sent in the order of the first six keys. Every key is optional. */
export interface Step {
  readonly thinking?: string;
  /** Runs of the code execution tool, with the files that they make. */
  readonly code?: CodeRun | readonly CodeRun[];
  readonly search?: Search | readonly Search[];
  readonly text?: string;
  readonly tools?: readonly ToolCall[];
  /** Raw blocks, sent unchanged. */
  readonly blocks?: readonly Block[];

  /**
   * The stop reason. Default: `tool_use` after calls of client tools, `max_tokens` or `stop_sequence` if these apply,
   * and `end_turn` in all other cases.
   */
  readonly stop?: StopReason;
  readonly stopDetails?: JsonObject;
  /** Replaces counted values, key by key. */
  readonly usage?: Partial<Usage>;

  /** The delay before the first byte, in milliseconds. */
  readonly delayMs?: number;
  /** Characters per delta. Default: 64. */
  readonly chunk?: number;
  readonly chunkDelayMs?: number;

  /** Sends an error instead of an answer: at the first `times` calls, or at every call. */
  readonly error?: ErrorFault;
  /** An error event in the middle of the stream; ignored by requests without `stream`. */
  readonly streamError?: StreamErrorFault;
  /** Resets the connection after `afterBytes` bytes of the body. With 0 bytes, not even the headers are sent. */
  readonly cut?: CutFault;
  /** Stops sending, but keeps the connection open. `true` sends nothing, an object sends some deltas first. */
  readonly hang?: true | HangFault;
  /**
   * Closes the connection normally, but without the final event. `true` sends all deltas first, an object only some.
   */
  readonly endEarly?: true | EndEarlyFault;
  /** A response with status 200 that is not an answer. */
  readonly instead?: InsteadFault;
  /**
   * The differences of the answer from an answer of OpenAI. Except `changingIds`, they apply only to Chat Completions.
   */
  readonly quirks?: Quirks;
  /** Sends each byte of the body in its own chunk. */
  readonly oneByte?: boolean;
  /** Puts a chunk boundary inside every multi-byte character. */
  readonly splitUtf8?: boolean;
}

export interface ToolCall {
  readonly name: string;
  readonly input?: JsonObject;
  readonly id?: string;
}

export interface CodeRun {
  /** A shell command (`bash_code_execution`). */
  readonly command?: string;
  /** Python (`code_execution`), the older tool. */
  readonly code?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly returnCode?: number;
  readonly files?: readonly GeneratedFile[];
  /** The error code of the tool, such as `unavailable`. */
  readonly error?: string;
}

export interface GeneratedFile {
  readonly name: string;
  readonly content?: string;
  readonly base64?: string;
  readonly mime?: string;
}

export interface Search {
  readonly query: string;
  readonly results?: readonly SearchResult[];
  /** The error code of the tool, such as `max_uses_exceeded`. */
  readonly error?: string;
}

interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly pageAge?: string;
  /** The words of this page that the step's text cites. */
  readonly cite?: string;
}

/**
 * A fault with `times` happens at the first `times` calls for this script and step. Later calls are answered normally.
 */
interface Fault {
  readonly times?: number;
}

export interface ErrorFault extends Fault {
  readonly status: number;
  readonly type?: string;
  readonly message?: string;
  /** The error code in OpenAI's APIs, such as `insufficient_quota`. */
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds, fractions allowed; sent as `retry-after`. */
  readonly retryAfter?: number;
}

export interface StreamErrorFault extends Fault {
  readonly afterChunks?: number;
  readonly type?: string;
  readonly message?: string;
}

export interface CutFault extends Fault {
  readonly afterBytes: number;
}

export interface HangFault extends Fault {
  readonly afterChunks?: number;
}

export interface EndEarlyFault extends Fault {
  readonly afterChunks?: number;
}

export interface InsteadFault extends Fault {
  /** `html`: an error page of a proxy. `empty`: no bytes. */
  readonly body: "html" | "empty";
}

/** How other servers with the Chat Completions API differ from OpenAI. */
export interface Quirks {
  /** The deltas of calls have no `index`, or every call has the `index` 0. */
  readonly index?: "missing" | "zero";
  /** Calls have no `id`. */
  readonly id?: "missing";
  /** The `id` of a call changes after its first delta. In the Responses API, it changes in the final item. */
  readonly changingIds?: boolean;
  /** Each call is sent in one delta. */
  readonly wholeCalls?: boolean;
  /** The deltas of several calls alternate. */
  readonly interleaved?: boolean;
  /** `arguments` as an object instead of a string. */
  readonly objectArguments?: boolean;
  /** The fields that contain the reasoning. Default: `reasoning_content`. Each of several fields contains all of it. */
  readonly reasoning?: readonly ("reasoning_content" | "reasoning" | "reasoning_text" | "reasoning_details")[];
  /** `last`: usage is in the delta with the finish reason. `missing`: there is no usage, even if requested. */
  readonly usage?: "missing" | "last";
  /** Cached tokens as DeepSeek reports them. */
  readonly cached?: "prompt_cache_hit_tokens";
  /** The finish reason of an answer with calls is `stop`. */
  readonly stopBesideCalls?: boolean;
}

export interface Script {
  readonly label: string | null;
  readonly steps: readonly Step[];
  /** The text of the script, which is the same in every request of a conversation. */
  readonly source: string;
}

const MARK = "[[script:";
const SCRIPT = /\[\[script:([A-Za-z0-9+/=_-]+)\]\]/g;

/**
 * Returns a text for a prompt. If a prompt contains this text, the simulator plays these steps. The ledger shows the
 * label.
 */
export function script(steps: readonly Step[], label?: string): string {
  const json = JSON.stringify(label === undefined ? steps : { label, steps });
  return `${MARK}${Buffer.from(json).toString("base64")}]]`;
}

/** The last script in a text. */
export function readScript(text: string): Script | null {
  if (!text.includes(MARK)) return null;
  const source = [...text.matchAll(SCRIPT)].at(-1)?.[1];
  if (source === undefined) return null;
  const value = decode(source);
  const steps = isObject(value) ? value.steps : value;
  if (!Array.isArray(steps) || steps.length === 0 || !steps.every(isObject)) {
    throw new ApiError(400, { message: "script: expected a non-empty list of steps" });
  }
  const label = isObject(value) && typeof value.label === "string" ? value.label : null;
  return { label, steps, source };
}

/** A prompt without the scripts in it, for a person to read. */
export function withoutScripts(text: string): string {
  return text.replaceAll(SCRIPT, "").trim();
}

function decode(source: string): unknown {
  try {
    return JSON.parse(Buffer.from(source, "base64").toString("utf8")) as unknown;
  } catch {
    throw new ApiError(400, { message: "script: expected base64 of JSON" });
  }
}
