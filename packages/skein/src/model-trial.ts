import type { Model, ModelCall } from "@skein/core";
import { type ModelTrial, isToolUse, textOf } from "@skein/protocol";

const RED = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC";
const WEATHER = {
  name: "weather",
  description: "The weather in a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

/** Makes one small call for each ability, one after the other. */
export async function* tryModel(name: string, model: Model, signal: AbortSignal): AsyncGenerator<ModelTrial> {
  const ask = (text: string): ModelCall => ({
    model: name,
    sessionId: "00000000-0000-7000-8000-000000000000",
    system: "",
    turns: [{ role: "user", content: text }],
    tools: [],
    serverTools: [],
    toolChoice: "auto",
    maxTokens: 4000,
    thinkingTokens: 0,
    cache: "off",
    extra: {},
    betas: [],
    containerId: null,
  });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: RED } };
  const question = { type: "text", text: "Which colour is this? Answer with one word." };
  const trials: readonly (readonly [ModelTrial["ability"], boolean, ModelCall])[] = [
    ["text", true, ask("Answer with one word: hello.")],
    ["tools", model.abilities.tools, { ...ask("Use the weather tool for the city Lisbon."), tools: [WEATHER] }],
    ["images", model.abilities.images, { ...ask(""), turns: [{ role: "user", content: [image, question] }] }],
    ["thinking", model.abilities.thinking, { ...ask("How much is 17 × 23?"), thinkingTokens: 1024 }],
  ];
  for (const [ability, isThere, call] of trials) {
    if (!isThere) {
      yield { ability, outcome: "not said to have it", ms: 0, detail: "" };
      continue;
    }
    const started = performance.now();
    const { outcome, detail } = await tried(ability, model, call, signal);
    yield { ability, outcome, ms: Math.round(performance.now() - started), detail };
  }
}

async function tried(
  ability: ModelTrial["ability"],
  model: Model,
  call: ModelCall,
  signal: AbortSignal,
): Promise<Pick<ModelTrial, "outcome" | "detail">> {
  try {
    const { content } = await model.call(call, () => {}, signal);
    const [used] = content.filter(isToolUse);
    const said = textOf([...content]);
    const detail = used ? `${used.name} ${JSON.stringify(used.input)}` : said;
    const isRight = ability === "tools" ? used !== undefined : said.trim() !== "";
    return { outcome: isRight ? "works" : "fails", detail };
  } catch (error) {
    return { outcome: "fails", detail: error instanceof Error ? error.message : String(error) };
  }
}
