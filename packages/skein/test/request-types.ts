import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A request that was sent to an API of the simulator. */
export interface SentRequest {
  readonly kind: string;
  readonly request: unknown;
}

const HEAD = `
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import type { Content, GenerationConfig, Tool, ToolConfig } from "@google/genai";

type Messages = MessageCreateParamsStreaming;
type Bedrock = Omit<Messages, "model" | "stream"> & { anthropic_version: string };
type Vertex = Omit<Messages, "model"> & { anthropic_version: string };
type Chat = ChatCompletionCreateParamsStreaming;
type Responses = ResponseCreateParamsStreaming;
/** An enum accepts its words in upper and lower case. */
type Words<T> = T extends string ? \`\${T}\` | Lowercase<\`\${T}\`> : T extends object ? { [Key in keyof T]: Words<T[Key]> } : T;
type Gemini = Words<{ contents: Content[]; systemInstruction?: Content; generationConfig?: GenerationConfig; tools?: Tool[]; toolConfig?: ToolConfig }>;
`;

const TYPES: Readonly<Record<string, string>> = {
  messages: "Messages",
  bedrock: "Bedrock",
  vertex: "Vertex",
  chat: "Chat",
  responses: "Responses",
  gemini: "Gemini",
};

const ROOT = join(import.meta.dirname, "../../..");

/**
 * Compiles requests with the types of the providers' SDKs. Returns the compiler's errors, or an empty text if every
 * request fits. Each request is a literal, so unknown fields are errors.
 */
export function typeProblems(sent: readonly SentRequest[]): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-request-types-"));
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const lines = sent.map(({ kind, request }, at) => {
      const type = TYPES[kind];
      if (type === undefined) throw new Error(`The SDK of "${kind}" is not known here.`);
      return `export const request${at}: ${type} = ${JSON.stringify(request, null, 1)};`;
    });
    writeFileSync(join(folder, "requests.ts"), `${HEAD}\n${lines.join("\n")}\n`);
    const options = "--noEmit --strict --skipLibCheck --module nodenext --target es2024 --types node".split(" ");
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { stdout, error } = spawnSync(tsc, [...options, "requests.ts"], { cwd: folder, encoding: "utf8" });
    if (error) throw error;
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
