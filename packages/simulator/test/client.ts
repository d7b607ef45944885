import Anthropic from "@anthropic-ai/sdk";
import { onTestFinished } from "vitest";
import { createSimulator, type Simulator, type SimulatorOptions, type Step, script } from "@skein/simulator";

export interface Rig {
  readonly simulator: Simulator;
  /** The unmodified SDK. It does not retry. */
  readonly client: Anthropic;
}

/** Starts a simulator for one test, with a client. */
export async function rig(options?: SimulatorOptions): Promise<Rig> {
  const simulator = await createSimulator(options);
  onTestFinished(() => simulator.close());
  return { simulator, client: clientOf(simulator, 0) };
}

export function clientOf(simulator: Simulator, maxRetries: number): Anthropic {
  return new Anthropic({ baseURL: simulator.url, apiKey: "sk-ant-simulated", maxRetries, logLevel: "off" });
}

/** A body whose prompt plays these steps. */
export function play(...steps: readonly Step[]): Anthropic.MessageCreateParamsNonStreaming {
  return ask(script(steps, "test"));
}

export function ask(text: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model: "claude-opus-5-5", max_tokens: 1000, messages: [{ role: "user", content: text }] };
}

/** The headers that a request without the SDK needs. */
export const HEADERS = {
  "x-api-key": "sk-ant-simulated",
  "anthropic-version": "2023-06-01",
  "content-type": "application/json",
};

export function textOf(message: { readonly content: readonly { readonly type: string }[] }): string {
  return message.content.map((block) => (block.type === "text" ? (block as Anthropic.TextBlock).text : "")).join("");
}
