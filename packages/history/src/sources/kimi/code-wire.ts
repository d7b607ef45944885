/** The wire of Kimi Code. */
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { textOf } from "../gemini/chat.ts";
import type { CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";
import { createSteps, type Wire } from "./cli-wire.ts";

export function createCodeWire(sessionId: string, writer: TranscriptWriter): Wire {
  const steps = createSteps(sessionId, writer, "kimi");
  const models = new Map<string, string>();
  let model = "";
  const loopEvent = (event: Value, at: number | null, from: string): void => {
    const type = event["type"];
    if (type === "tool.result") {
      const result = objectOf(event["result"]);
      const text = stringOf(result["output"]) ?? textOf(result["output"]);
      const callId = stringOf(event["toolCallId"]) ?? "";
      steps.result(() => void writer.result(callId, text, { at, from, isError: result["isError"] === true }));
      return;
    }
    if (type !== "tool.call" && type !== "content.part") {
      writer.other(String(type), event, { at, from });
      return;
    }
    if (steps.isAnswered) steps.close(model);
    const part = objectOf(event["part"]);
    const thinking = stringOf(part["think"]);
    if (type === "tool.call")
      steps.block(
        { type: "tool_use", id: event["toolCallId"], name: event["name"], input: objectOf(event["args"]) },
        at,
        from,
      );
    else if (thinking !== null) steps.block({ type: "thinking", thinking }, at, from);
    else steps.block({ type: "text", text: stringOf(part["text"]) ?? "" }, at, from);
  };
  const usage = (record: Value, at: number | null, from: string): void => {
    const alias = stringOf(record["model"]) ?? "";
    const name = models.get(alias) ?? alias;
    const tokens = tokensOf(objectOf(record["usage"]));
    if (name !== "") model = name;
    if (steps.tokens(tokens)) steps.close(model);
    else writer.usage(`kimi:${sessionId}:${from}`, name, tokens, { at, from });
  };
  return {
    add(record, from) {
      const at = numberOf(record["time"]);
      switch (record["type"]) {
        // The message follows in a separate record.
        case "metadata":
        case "turn.prompt":
          return;
        case "context.append_message": {
          steps.close(model);
          const message = objectOf(record["message"]);
          const isMeta = objectOf(message["origin"])["kind"] !== "user";
          if (message["role"] === "user") writer.user(textOf(message["content"]), { at, from, isMeta });
          else writer.other(`message-${String(message["role"])}`, message, { at, from });
          return;
        }
        case "llm.request": {
          const name = stringOf(record["model"]) ?? "";
          models.set(stringOf(record["modelAlias"]) ?? name, name);
          model = name || model;
          return;
        }
        case "context.append_loop_event":
          return loopEvent(objectOf(record["event"]), at, from);
        case "usage.record":
          return usage(record, at, from);
        default:
          writer.other(String(record["type"]), record, { at, from });
      }
    },
    finish: () => steps.close(model),
  };
}

function tokensOf(usage: Value): CallTokens {
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  return {
    input: of("inputOther"),
    output: of("output"),
    cacheRead: of("inputCacheRead"),
    cacheWrite: of("inputCacheCreation"),
  };
}
