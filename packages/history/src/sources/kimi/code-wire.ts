/** Translates the wire (the log of protocol messages) of Kimi Code. */
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { textOf } from "../gemini/chat.ts";
import type { CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";
import { callOf, createSteps, type Wire } from "./cli-wire.ts";

/** Creates a translator. `agent` is the name of the agent, which is the same in every copy of the wire. */
export function createCodeWire(sessionId: string, agent: string, writer: TranscriptWriter): Wire {
  const steps = createSteps(sessionId, writer);
  /**
   * For each prompt of a person, the line before it. If the prompt is undone, the conversation branches at this line.
   */
  const prompts: (string | null)[] = [];
  let branchAt: string | null | undefined;
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
    if (type === "step.begin") steps.close(model);
    // The end of a step contains tokens, but a separate record contains them too.
    if (type === "step.begin" || type === "step.end") return;
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
    const call = callOf([agent, at], tokens) ?? `kimi:${sessionId}:${from}`;
    if (steps.tokens(tokens, call)) steps.close(model);
    else writer.usage(call, name, tokens, { at, from });
  };
  const message = (value: Value, at: number | null, from: string): void => {
    steps.close(model);
    if (value["role"] !== "user") {
      writer.other(`message-${String(value["role"])}`, value, { at, from });
      return;
    }
    const isMeta = objectOf(value["origin"])["kind"] !== "user";
    const parent = branchAt === undefined ? {} : { parent: branchAt };
    if (!isMeta) prompts.push(branchAt === undefined ? writer.last : branchAt);
    branchAt = undefined;
    writer.user(textOf(value["content"]), { at, from, isMeta, ...parent });
  };
  const undo = (count: number): void => {
    steps.close(model);
    const [first] = count > 0 ? prompts.splice(-count) : [];
    if (first !== undefined) branchAt = first;
  };
  return {
    add(record, from) {
      const at = numberOf(record["time"]);
      switch (record["type"]) {
        // A separate record with the message follows.
        case "metadata":
        case "turn.prompt":
          return;
        case "context.append_message":
          return message(objectOf(record["message"]), at, from);
        case "context.undo":
          return undo(numberOf(record["count"]) ?? 0);
        case "context.apply_compaction":
          steps.close(model);
          return writer.compaction(stringOf(record["summary"]), { at, from });
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
