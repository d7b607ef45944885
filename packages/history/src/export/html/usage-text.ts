/** The tokens and the cost of a page. Each model call counts once, even if the agent reports it outside its answers. */
import { earlierPrice, priceCall, priceOfSum, type ModelPrice } from "@skein/protocol/prices";
import type { Message } from "../../model/types.ts";
import { SUM } from "../../sources/port/source.ts";
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";

interface Call {
  readonly id: string;
  readonly model: string;
  /** The usage in the last line of the answer, which has the final counts. */
  readonly usage: Value;
}

export function usageText(messages: readonly Message[]): { readonly tokens: string; readonly cost: string } {
  const sum = { input: 0, output: 0, read: 0, written: 0, micros: 0 };
  let isPriced = true;
  let isInputKnown = false;
  const seen = new Set<string>();
  for (const message of messages) {
    const call = callOf(message);
    if (!call || call.model === "<synthetic>" || seen.has(call.id)) continue;
    seen.add(call.id);
    const of = (key: string): number => numberOf(call.usage[key]) ?? 0;
    isInputKnown ||= call.usage["input_tokens"] !== undefined;
    sum.input += of("input_tokens");
    sum.output += of("output_tokens");
    sum.read += of("cache_read_input_tokens");
    sum.written += of("cache_creation_input_tokens");
    const counted = { ...call.usage, input_tokens: of("input_tokens"), output_tokens: of("output_tokens") };
    const cost = priceCall(call.model, counted, priceAt(call, message.timestamp.getTime()));
    if (cost) sum.micros += cost.total_micros;
    else isPriced = false;
  }
  const input = sum.input + sum.written + sum.read;
  if (input + sum.output === 0) return { tokens: "", cost: "" };
  const read = isInputKnown ? `${count(input)} in (${count(sum.read)} from the cache), ` : "";
  // A cost below half a cent is not shown as zero.
  const dollars = sum.micros > 0 && sum.micros < 5000 ? "<$0.01" : `$${(sum.micros / 1_000_000).toFixed(2)}`;
  return {
    tokens: `${read}${count(sum.output)} out`,
    cost: isPriced ? dollars : `${dollars}, and calls of models without a price`,
  };
}

function priceAt({ id, model }: Call, at: number): ModelPrice | undefined {
  return id.startsWith(SUM) ? priceOfSum(model, at) : earlierPrice(model, at);
}

function callOf(message: Message): Call | undefined {
  if (message.role === "assistant") {
    const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens } = message.usage;
    const last = objectOf(objectOf((message.moreLines?.at(-1)?.raw ?? message.raw)["message"])["usage"]);
    const isInputKnown = inputTokens + cacheReadInputTokens + cacheCreationInputTokens > 0 || "input_tokens" in last;
    const usage = {
      ...last,
      output_tokens: outputTokens,
      ...(isInputKnown && {
        input_tokens: inputTokens,
        cache_read_input_tokens: cacheReadInputTokens,
        cache_creation_input_tokens: cacheCreationInputTokens,
      }),
    };
    return { id: message.id ?? message.uuid, model: message.model, usage };
  }
  // Only translated lines have the field `from`. Progress lines of Claude Code do not count, because they repeat calls
  // of subagents.
  if (message.type !== "progress" || typeof message.raw["from"] !== "string") return undefined;
  const { id, model, usage } = objectOf(objectOf(objectOf(message.raw["data"])["message"])["message"]);
  return { id: String(id), model: stringOf(model) ?? "", usage: objectOf(usage) };
}

const numbers = new Intl.NumberFormat("en-US");

export function count(value: number): string {
  return numbers.format(value);
}
