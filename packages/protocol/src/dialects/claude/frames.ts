import type { Content, JsonObject } from "../../content.ts";
import type { Event, FactData } from "../../event.ts";
import { picosOfTotals } from "../../money.ts";
import { NO_USAGE, type Usage, type UsageTotals, addUsage } from "../../usage.ts";
import { claudeBlocks, claudePiece } from "./blocks.ts";
import { initData } from "./init-frame.ts";
import { noticed, usageOf } from "./message-rows.ts";
import { questionData } from "./question-frame.ts";
import { doneReason, errorData, resultData } from "./result-frame.ts";
import type { MessageEventData, StreamEvent } from "./responses.ts";

/** Data that the frames need and that the framed events do not have. */
export interface FramingContext {
  readonly sessionId: string;
  /** The model of the session's agent, for a runtime that does not report its model. */
  readonly model: string;
  /** Names of the agent's tools, for a runtime that does not report its tools. */
  readonly tools: readonly string[];
  /** True if the runtime reports its start: Claude Code does, the loop does not. */
  readonly announces: boolean;
  /**
   * Contents of messages before the first framed event, by message id. A run may begin after this event with an earlier
   * prompt.
   */
  readonly contents: ReadonlyMap<string, Content>;
  /** The cost of the session before the first framed run, in pico-dollars. Null if unknown. */
  readonly costBefore: bigint | null;
}

/** Makes the Claude API's frames from the next event of the log. */
export type Framing = (event: Event) => readonly StreamEvent[];

/** Returns the id of a frame. It contains the session's id, so that a client can resume the stream of a POST. */
export function frameId(sessionId: string, sequence: number): string {
  return `${sessionId}:${sequence}`;
}

/**
 * Reads the id of a frame. A plain number is a sequence in the requested session. Returns undefined if the id is not
 * valid.
 */
export function placeOfFrame(
  id: string,
): { readonly sessionId: string | undefined; readonly sequence: number } | undefined {
  const [, sessionId, sequence] = /^(?:([0-9a-f-]{36}):)?(\d{1,15})$/.exec(id.toLowerCase()) ?? [];
  return sequence === undefined ? undefined : { sessionId, sequence: Number(sequence) };
}

/**
 * Makes frames from events. The framing remembers the current run, so it needs all events of the run.
 *
 * If an event makes several frames, only the last frame has an id. So a client that missed the last frame gets all
 * frames of the event again.
 */
export function createFraming(context: FramingContext): Framing {
  const { sessionId } = context;
  const contents = new Map(context.contents);
  let spent = context.costBefore;
  let run = newRun();

  function framesOf(event: Event): readonly Framed[] {
    switch (event.event_type) {
      case "prompt.accepted":
        contents.set(event.data.message_id, event.data.content);
        return [];
      case "session.started":
        run = newRun();
        run.prompted = true;
        return context.announces ? [] : init({ model: context.model, tools: context.tools });
      case "runtime.started":
        return init(event.data.info);
      case "message.created": {
        const { message_id, role, transformation_type } = event.data;
        if (role === "assistant") return [];
        if (transformation_type === "tool_result_added")
          return [message({ type: "user", content: resultsOf(message_id), uuid: message_id })];
        return [message({ type: role, content: claudeBlocks(contents.get(message_id) ?? []), uuid: message_id })];
      }
      case "message.copied": {
        const { message_id, role, content } = event.data;
        return [message({ type: role, content: claudeBlocks(content), uuid: message_id })];
      }
      case "step.generated": {
        const { purpose, message_id, content, model, usage } = event.data;
        use(model, usage);
        if (purpose !== "step" && purpose !== "summary") return [];
        return [
          message({
            type: "assistant",
            content: claudeBlocks(content),
            model,
            uuid: message_id,
            usage: usageOf(usage),
          }),
        ];
      }
      case "step.abandoned":
        use(event.data.model, event.data.usage);
        return interrupted(event.data, event.data.model, event.data.usage);
      case "step.error": {
        const { lost } = event.data;
        if (lost) use(lost.model, lost.usage);
        return interrupted(event.data, lost?.model ?? context.model, lost?.usage ?? NO_USAGE);
      }
      case "tool.completed": {
        const results = run.results.get(event.data.message_id) ?? [];
        run.results.set(event.data.message_id, [...results, event.data]);
        return [];
      }
      case "subagent.messaged": {
        const { role, content, model, message_id, usage, parent_tool_use_id } = event.data;
        if (usage) use(model ?? context.model, usage);
        return [
          message({
            type: role,
            content: claudeBlocks(content),
            model,
            uuid: message_id,
            usage: usage && usageOf(usage),
            parent_tool_use_id,
          }),
        ];
      }
      case "runtime.noticed": {
        const { subtype, notice, message_id } = event.data;
        return [
          message({ type: "system", content: claudeBlocks([...noticed(notice)]), uuid: message_id, subtype, notice }),
        ];
      }
      case "step.retried": {
        const { attempt, error, delay_ms, lost } = event.data;
        if (lost) use(lost.model, lost.usage);
        const notice = { attempt, error: error.message, error_status: error.status ?? null, retry_delay_ms: delay_ms };
        return [message({ type: "system", content: [], subtype: "api_retry", notice })];
      }
      case "await.opened":
        return event.data.awaits.flatMap((one) => {
          const data = questionData(one, sessionId);
          return data ? [{ event: "question" as const, data }] : [];
        });
      case "session.completed":
      case "session.failed": {
        spent = spent === null || event.data.unpriced_calls > 0 ? null : spent + picosOfTotals(event.data);
        const failure = errorData(event);
        return [
          // If the runtime never started, `init` has only the data of the agent.
          ...(run.prompted ? init({ model: context.model, tools: context.tools }) : []),
          { event: "result", data: resultData(event, { sessionId, spent, byModel: run.byModel }) },
          ...(failure ? [{ event: "error" as const, data: failure }] : []),
          { event: "done", data: { reason: doneReason(event) } },
        ];
      }
      case "session.created":
      case "session.edited":
      case "title.generated":
      case "cancel.requested":
      case "run.resumed":
      case "steps.exhausted":
      case "parent.informed":
      case "step.started":
      case "tool.started":
      case "await.answered":
      case "await.resolved":
      case "answer.validated":
      case "transcript.repaired":
      case "transcript.appended":
      case "memory.retrieved":
      case "memory.updated":
      case "memory.saved":
      case "memory.restored":
      case "compaction.checked":
      case "file.generated":
      case "file.downloaded":
      case "file.stored":
      case "file.failed":
      case "hook.called":
      case "checkpoint.created":
      case "rewind.requested":
      case "rewind.completed":
      case "control.requested":
        return [];
    }
  }

  /** Makes the `init` frame once per run, even if the runtime starts several times. */
  function init(info: JsonObject): readonly Framed[] {
    if (run.announced) return [];
    run.announced = true;
    return [{ event: "init", data: initData(info, sessionId, context.model) }, ...run.held.splice(0)];
  }

  function use(model: string, usage: Usage): void {
    run.byModel.set(model, addUsage(run.byModel.get(model) ?? NO_USAGE, usage));
  }

  function resultsOf(messageId: string): MessageEventData["content"] {
    const results = (run.results.get(messageId) ?? []).toSorted((a, b) => a.part - b.part);
    return results.map(({ tool_use_id, content, is_error }) => ({
      type: "tool_result",
      tool_use_id,
      content,
      is_error,
    }));
  }

  return (event) => {
    const frames = framesOf(event);
    // A stream begins with `init`, so frames of earlier events wait until `init` is sent.
    if (run.prompted && !run.announced) {
      run.held.push(...frames);
      return [];
    }
    return frames.map((frame, index) =>
      index === frames.length - 1 ? { ...frame, id: frameId(sessionId, event.sequence) } : frame,
    );
  };
}

type Framed = StreamEvent extends infer Frame ? (Frame extends { id?: unknown } ? Omit<Frame, "id"> : never) : never;

interface RunSoFar {
  /** True if the framing has seen the start of the run. */
  prompted: boolean;
  announced: boolean;
  readonly held: Framed[];
  readonly byModel: Map<string, UsageTotals>;
  readonly results: Map<string, readonly FactData<"tool.completed">[]>;
}

function newRun(): RunSoFar {
  return { prompted: false, announced: false, held: [], byModel: new Map(), results: new Map() };
}

function message(data: MessageEventData): Framed {
  return { event: "message", data };
}

/** Returns the frame with the text of an interrupted answer. */
function interrupted(
  { message_id, content }: Pick<FactData<"step.abandoned">, "message_id" | "content">,
  model: string,
  usage: Usage,
): readonly Framed[] {
  if (message_id === undefined || !content) return [];
  const shown = claudeBlocks([...content]);
  return [message({ type: "assistant", content: shown, model, uuid: message_id, usage: usageOf(usage) })];
}

/**
 * Returns the `partial` frame of a draft piece. Returns undefined for a piece that the Claude API does not show.
 */
export function partialFrame(piece: JsonObject, messageId: string): StreamEvent | undefined {
  const shown = claudePiece(piece);
  if (!shown) return undefined;
  const data = { ...shown, uuid: messageId } as unknown as Extract<StreamEvent, { event: "partial" }>["data"];
  return { event: "partial", data };
}
