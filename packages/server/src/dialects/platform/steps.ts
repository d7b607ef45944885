import type { Sessions } from "@skein/core";
import { type ApiStep, type Event, timeOf } from "@skein/protocol";
import { type Handlers, sessionIn } from "../../request-context.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";

const DEFAULT_LIMIT = 50;
/** How many events are read at once, so that a whole log is never in memory. */
const STRETCH = 100;

/** The model calls of a session. */
export const stepHandlers = {
  async listSteps({ params, query: { limit = DEFAULT_LIMIT, cursor } }, call) {
    const { id } = await sessionIn(call, params);
    const after = cursor === undefined ? 0 : Number(placeOf(cursor, PLACES.number));
    const steps = await stepsAfter(call.sessions, id, { after, most: limit + 1 });
    const data = steps.slice(0, limit);
    const last = data.at(-1);
    return { data, next_cursor: cursorOf(last && steps.length > limit ? String(last.sequence) : null) };
  },
} satisfies Partial<Handlers>;

/**
 * Returns the model calls that began after an event, oldest first. Reads until `most` calls have begun, and all of them
 * except the last have ended.
 */
async function stepsAfter(
  sessions: Sessions,
  sessionId: string,
  { after, most }: { readonly after: number; readonly most: number },
): Promise<readonly ApiStep[]> {
  const steps: ApiStep[] = [];
  for (let last = after; ;) {
    const events = await sessions.events(sessionId, { after: last, limit: STRETCH });
    for (const event of events) {
      if (event.event_type === "step.started") steps.push(begun(event));
      else end(steps, event);
      if (steps.length >= most && steps.slice(0, most - 1).every(({ state }) => state !== "running")) return steps;
    }
    last = events.at(-1)?.sequence ?? last;
    if (events.length < STRETCH) return steps;
  }
}

type Of<Type extends Event["event_type"]> = Extract<Event, { event_type: Type }>;

function begun(event: Of<"step.started">): ApiStep {
  const { data, sequence } = event;
  const { run_id, step, attempt, purpose, model } = data;
  return {
    run_id,
    step,
    attempt,
    purpose,
    model,
    sequence,
    state: "running",
    started_at: timeOf(event),
    duration_ms: null,
    stop_reason: null,
    error: null,
    usage: null,
    cost_micros: null,
    estimated: false,
    reserved_micros: 0,
    simulated: false,
    calls: 0,
  };
}

/** Ends the open call to which this event belongs. The end of a run ends all its calls that are still open. */
function end(steps: readonly ApiStep[], event: Event): void {
  const running = steps.filter(({ state }) => state === "running");
  switch (event.event_type) {
    case "step.generated": {
      const { run_id, step, purpose, model, stop_reason, duration_ms, content } = event.data;
      const calls = content.filter(({ type }) => type === "tool_use" || type === "server_tool_use").length;
      const ended = {
        state: "generated",
        model,
        stop_reason,
        duration_ms,
        calls,
        ...counted(event.data),
      };
      const open = running.find((one) => one.run_id === run_id && one.step === step && one.purpose === purpose);
      if (open) Object.assign(open, ended);
      return;
    }
    case "step.retried":
    case "step.error":
    case "step.abandoned": {
      const { run_id, step } = event.data;
      const open = running.findLast((one) => one.run_id === run_id && one.step === step);
      if (!open) return;
      const duration_ms = Date.parse(timeOf(event)) - Date.parse(open.started_at);
      if (event.event_type === "step.abandoned") {
        Object.assign(open, { state: "abandoned", duration_ms, ...broken(event.data) });
        return;
      }
      const { error, lost } = event.data;
      Object.assign(open, { state: "failed", error: error.message, duration_ms });
      if (lost) Object.assign(open, broken(lost));
      return;
    }
    case "session.completed":
    case "session.failed": {
      const { run_id } = event.data;
      for (const open of running) if (open.run_id === run_id) open.state = "abandoned";
      return;
    }
    default:
  }
}

type Lost = NonNullable<Of<"step.error">["data"]["lost"]>;

/** The usage of an interrupted call. */
function broken(lost: Lost) {
  return { ...counted(lost), reserved_micros: lost.reserved_micros ?? 0 };
}

function counted({ usage, cost, estimated, simulated }: Pick<Lost, "usage" | "cost" | "estimated" | "simulated">) {
  return {
    usage,
    cost_micros: cost?.total_micros ?? null,
    estimated: estimated === true,
    simulated: simulated === true,
  };
}
