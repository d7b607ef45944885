import type { Model, ModelCall, ModelReply } from "@skein/core";
import { type ModelTrial, isToolUse, textOf } from "@skein/protocol";

const RED = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC";
/** A PDF page with the word "Lisbon". */
const PAGE =
  "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+IGVuZG9iagoyIDAgb2JqPDwvVHlwZS9QYWdlcy9LaWRzWzMgMCBSXS9Db3VudCAxPj4gZW5kb2JqCjMgMCBvYmo8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlhQm94WzAgMCAyMDAgMTAwXS9Db250ZW50cyA0IDAgUi9SZXNvdXJjZXM8PC9Gb250PDwvRiA1IDAgUj4+Pj4+PiBlbmRvYmoKNCAwIG9iajw8L0xlbmd0aCAzNT4+c3RyZWFtCkJUIC9GIDI0IFRmIDIwIDQwIFRkIChMaXNib24pIFRqIEVUCmVuZHN0cmVhbSBlbmRvYmoKNSAwIG9iajw8L1R5cGUvRm9udC9TdWJ0eXBlL1R5cGUxL0Jhc2VGb250L0hlbHZldGljYT4+IGVuZG9iagp4cmVmCjAgNgowMDAwMDAwMDAwIDY1NTM1IGYgCjAwMDAwMDAwMDkgMDAwMDAgbiAKMDAwMDAwMDA1MyAwMDAwMCBuIAowMDAwMDAwMTAzIDAwMDAwIG4gCjAwMDAwMDAyMTMgMDAwMDAgbiAKMDAwMDAwMDI5NCAwMDAwMCBuIAp0cmFpbGVyPDwvU2l6ZSA2L1Jvb3QgMSAwIFI+PgpzdGFydHhyZWYKMzU2CiUlRU9GCg==";
const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const WEATHER = { name: "weather", description: "The weather in a city.", input_schema: CITY };
const CLOCK = { name: "clock", description: "The time in a city.", input_schema: CITY };
/** A text that is long enough for the cache of every provider. Some caches need at least 4,096 tokens. */
const LONG = Array.from({ length: 600 }, (_, at) => `Rule ${at + 1}: answer briefly and politely.`).join(" ");

type Ability = ModelTrial["ability"];

/** A model call that tries one ability, such as tools or images, and the check of the model's answer. */
interface Trial {
  readonly ability: Ability;
  readonly isThere: boolean;
  readonly call: ModelCall;
  /** How often the call is made. Only the last answer is checked. */
  readonly times?: number;
  readonly shows: (reply: ModelReply) => boolean;
  /** A sentence that says what the answer lacks if the ability is missing. */
  readonly lack?: string;
  readonly detail?: (reply: ModelReply) => string;
}

/**
 * Tests each ability with a small call, and the cache with two calls. If the model does not answer the first call,
 * makes no more calls.
 */
export async function* tryModel(name: string, model: Model, signal: AbortSignal): AsyncGenerator<ModelTrial> {
  let isSilent = false;
  /** Maps each reported reason to the ability with this reason. */
  const told = new Map<string, Ability>();
  for (const trial of trialsOf(name, model)) {
    const { ability } = trial;
    if (isSilent || !trial.isThere) {
      yield { ability, outcome: isSilent ? "not tried" : "turned off", ms: 0, detail: "" };
      continue;
    }
    const started = performance.now();
    const { outcome, detail } = await tried(trial, model, signal);
    const ms = Math.round(performance.now() - started);
    isSilent = ability === "text" && outcome === "fails";
    const before = outcome === "fails" ? told.get(detail) : undefined;
    if (outcome === "fails" && before === undefined) told.set(detail, ability);
    yield { ability, outcome, ms, detail: before === undefined ? detail : `For the same reason as ${before}.` };
  }
}

function trialsOf(name: string, { abilities }: Model): readonly Trial[] {
  const ask = (content: ModelCall["turns"][number]["content"], more: Partial<ModelCall> = {}): ModelCall => ({
    model: name,
    sessionId: "00000000-0000-7000-8000-000000000000",
    system: "",
    turns: [{ role: "user", content }],
    tools: [],
    serverTools: [],
    toolChoice: "auto",
    maxTokens: 4000,
    thinkingTokens: 0,
    cache: "off",
    extra: {},
    betas: [],
    containerId: null,
    ...more,
  });
  const shown = (type: "image" | "document", media_type: string, data: string, question: string): ModelCall =>
    ask([
      { type, source: { type: "base64", media_type, data } },
      { type: "text", text: question },
    ]);
  const both = "Use the weather tool and the clock tool for the city Lisbon, both calls in one answer.";
  return [
    { ability: "text", isThere: true, call: ask("Answer with one word: hello."), shows: hasText },
    {
      ability: "tools",
      isThere: abilities.tools,
      call: ask("Use the weather tool for the city Lisbon.", { tools: [WEATHER] }),
      shows: (reply) => callsIn(reply) > 0,
      lack: "No tool was called.",
    },
    {
      ability: "parallel_tools",
      isThere: abilities.tools && abilities.parallelTools,
      call: ask(both, { tools: [WEATHER, CLOCK] }),
      shows: (reply) => callsIn(reply) > 1,
      lack: "The answer did not have two calls.",
    },
    {
      ability: "images",
      isThere: abilities.images,
      call: shown("image", "image/png", RED, "Which colour is this? Answer with one word."),
      shows: hasText,
    },
    {
      ability: "pdf",
      isThere: abilities.pdf,
      call: shown("document", "application/pdf", PAGE, "Which word is on the page? Answer with one word."),
      shows: hasText,
    },
    {
      ability: "thinking",
      isThere: abilities.thinking,
      call: ask("How much is 17 × 23?", { thinkingTokens: 1024 }),
      shows: hasText,
    },
    {
      ability: "output",
      isThere: abilities.output,
      call: ask("Which city is the capital of Portugal?", { output: { name: "answer", schema: CITY } }),
      shows: ({ content }) => isCity(textOf([...content])),
      lack: "The answer was not the requested JSON.",
    },
    {
      ability: "caching",
      isThere: abilities.caching,
      call: ask("Answer with one word: hello.", { system: LONG, cache: "short" }),
      times: 2,
      shows: ({ usage }) => (usage.cache_read_input_tokens ?? 0) > 0,
      lack: "Nothing was cached.",
      detail: ({ usage }) => `${usage.cache_read_input_tokens ?? 0} tokens of the second call came from the cache.`,
    },
  ];
}

const hasText = ({ content }: ModelReply): boolean => textOf([...content]).trim() !== "";
const callsIn = ({ content }: ModelReply): number => content.filter(isToolUse).length;

function isCity(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { city?: unknown }).city === "string";
  } catch {
    return false;
  }
}

async function tried(
  { call, times = 1, shows, detail = answerIn, lack = "The answer has no text." }: Trial,
  model: Model,
  signal: AbortSignal,
): Promise<Pick<ModelTrial, "outcome" | "detail">> {
  try {
    let reply = await model.call(call, () => {}, signal);
    for (let made = 1; made < times; made += 1) reply = await model.call(call, () => {}, signal);
    if (shows(reply)) return { outcome: "works", detail: detail(reply) };
    return { outcome: "fails", detail: `${lack} Answer: ${detail(reply) || "(empty)"}` };
  } catch (error) {
    return { outcome: "fails", detail: error instanceof Error ? error.message : String(error) };
  }
}

function answerIn({ content }: ModelReply): string {
  const used = content.filter(isToolUse).map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
  return used.length > 0 ? used.join(", ") : textOf([...content]);
}
