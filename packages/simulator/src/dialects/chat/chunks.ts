/** An answer as the chunks of a stream, ended by `[DONE]`. */
import type { Quirks } from "../../script.ts";
import { isObject, type Block, type JsonObject } from "../../wire.ts";
import type { Answer } from "../dialect.ts";
import { inputText, pieces, type StreamEvent } from "../stream.ts";
import { callsOf, completionId, finishOf, reasoning, textOf, usageOf } from "./completion.ts";

export function chunksOf({ message, step, asked, now }: Answer): readonly StreamEvent[] {
  const { quirks = {} } = step;
  const wantsUsage = isObject(asked.stream_options) && asked.stream_options.include_usage === true;
  const tellsUsage = wantsUsage && quirks.usage !== "missing";
  const head = {
    id: completionId(message),
    object: "chat.completion.chunk",
    created: Math.floor(now / 1000),
    model: message.model,
    service_tier: "default",
    system_fingerprint: "fp_simulated",
  };
  const chunk = (kind: StreamEvent["kind"], delta: JsonObject, end?: { readonly finish: string; usage?: unknown }) =>
    event(kind, {
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: end?.finish ?? null }],
      ...(tellsUsage && { usage: end?.usage ?? null }),
    });

  const usage = usageOf(message.usage, quirks);
  const finish = finishOf(message, quirks);
  return [
    chunk("start", { role: "assistant", content: "", refusal: null }),
    ...pieces(textOf(message, "thinking"), step.chunk).map((text) => chunk("delta", reasoning(text, quirks))),
    ...pieces(textOf(message, "text"), step.chunk).map((text) => chunk("delta", { content: text })),
    ...callDeltas(callsOf(message), quirks, step.chunk).map((call) => chunk("delta", { tool_calls: [call] })),
    chunk("end", {}, quirks.usage === "last" ? { finish, usage } : { finish }),
    ...(tellsUsage && quirks.usage !== "last" ? [event("end", { ...head, choices: [], usage })] : []),
    { text: "data: [DONE]\n\n", kind: "end" },
  ];
}

function event(kind: StreamEvent["kind"], data: JsonObject): StreamEvent {
  return { text: `data: ${JSON.stringify(data)}\n\n`, kind };
}

function callDeltas(calls: readonly Block[], quirks: Quirks, size: number | undefined): readonly JsonObject[] {
  const rows = calls.map((call, index) => deltasOf(call, index, { quirks, size }));
  if (!quirks.interleaved) return rows.flat();
  const longest = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: longest }, (_, at) =>
    rows.flatMap((row): readonly JsonObject[] => row.slice(at, at + 1)),
  ).flat();
}

function deltasOf(
  call: Block,
  index: number,
  { quirks, size }: { readonly quirks: Quirks; readonly size: number | undefined },
): readonly JsonObject[] {
  const place = quirks.index === "missing" ? {} : { index: quirks.index === "zero" ? 0 : index };
  const id = quirks.id === "missing" ? {} : { id: call.id };
  const later = quirks.changingIds ? { id: `${String(call.id)}_later` } : {};
  const text = inputText(call);
  const first = (input: unknown) => ({
    ...place,
    ...id,
    type: "function",
    function: { name: call.name, arguments: input },
  });
  if (quirks.objectArguments) return [first(call.input)];
  if (quirks.wholeCalls) return [first(text)];
  return [first(""), ...pieces(text, size).map((piece) => ({ ...place, ...later, function: { arguments: piece } }))];
}
