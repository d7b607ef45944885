import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { createSimulator, script, type Simulator, type Step } from "@skein/simulator";

export interface Rig {
  readonly simulator: Simulator;
  /** The unmodified clients. They do not retry. */
  readonly openai: OpenAI;
  readonly google: GoogleGenAI;
}

export async function rig(): Promise<Rig> {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "sk-simulated", maxRetries: 0, logLevel: "off" });
  const google = new GoogleGenAI({ apiKey: "simulated", httpOptions: { baseUrl: simulator.url } });
  return { simulator, openai, google };
}

/** A prompt that plays these steps. */
export const play = (...steps: readonly Step[]): string => script(steps, "test");

/** A step with all content that every dialect can send: thinking, text and two calls. */
export const EVERYTHING: Step = {
  thinking: "Let me think about the wörld 🌍.",
  text: "I will look — twice.",
  tools: [
    { name: "read", input: { path: "a.txt", deep: { list: [1, "two", null], emoji: "🧶" } } },
    { name: "list", input: {} },
  ],
  chunk: 5,
};

export const READ_SCHEMA = {
  type: "object" as const,
  properties: { path: { type: "string" } },
};

/** A PNG image of 1 × 1 pixels in base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
