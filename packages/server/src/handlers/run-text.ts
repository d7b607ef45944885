import { type Live, type LiveFrame, type Sessions, formatStream, statusOf } from "@skein/core";
import type { Event, Run } from "@skein/protocol";
import { type Handlers, TAKEN_OVER } from "../call.ts";
import { openSse } from "../sse.ts";
import { runIn } from "./runs.ts";

/** A run in one of seed 002's text forms, live. */
export const runTextHandlers = {
  async streamRunText({ params, query }, call) {
    const run = await runIn(call, params);
    const { agent, transcript } = await call.sessions.state(run.session_id);
    const meta = agent?.stream_meta_history_and_tool_results ?? false;
    const { shared, principal, reply, sessions } = call;
    const giveBack = shared.meter.stream(principal.keyId);
    reply.hijack();
    const headers = Object.fromEntries(
      Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]),
    );
    const sse = openSse({ response: reply.raw, headers, limits: shared.limits, onCut: shared.metrics.cut });
    const remove = shared.streams.add({ keyId: principal.keyId, close: () => sse.end() });
    try {
      const items = runItems({ sessions, live: shared.deps.live, run }, sse.signal);
      const options = { meta, history: meta ? transcript : [] };
      for await (const text of formatStream(query.format ?? agent?.formatter ?? "json", items, options))
        if (!(await sse.send(frameOf(text)))) return TAKEN_OVER;
      sse.end(": the end\n\n");
    } catch {
      reply.raw.destroy();
    } finally {
      remove();
      giveBack();
    }
    return TAKEN_OVER;
  },
} satisfies Partial<Handlers>;

/** Text of several lines is several `data:` lines of one frame. */
function frameOf(text: string): string {
  return `data: ${text.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}

interface RunItems {
  readonly sessions: Sessions;
  readonly live: Live;
  readonly run: Run;
}

/** The facts of a run, and what its steps say while they are made, until it is over or waits for somebody. */
async function* runItems({ sessions, live, run }: RunItems, signal: AbortSignal): AsyncGenerator<Event | LiveFrame> {
  const queue: (Event | LiveFrame)[] = [];
  const stop = new AbortController();
  let over = false;
  let wake = (): void => {};
  const push = (item: Event | LiveFrame): void => {
    queue.push(item);
    wake();
  };
  const unsubscribe = live.subscribe(run.session_id, (frame) => frame.run_id === run.id && push(frame));
  const reading = readRun({ sessions, run, push }, AbortSignal.any([signal, stop.signal])).finally(() => {
    over = true;
    wake();
  });
  try {
    for (;;) {
      const item = queue.shift();
      if (item) yield item;
      else if (over) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    await reading;
  } finally {
    unsubscribe();
    stop.abort();
    await reading.catch(() => undefined);
  }
}

async function readRun(
  { sessions, run, push }: Omit<RunItems, "live"> & { push: (event: Event) => void },
  signal: AbortSignal,
): Promise<void> {
  for await (const event of sessions.follow(run.session_id, { after: run.first_sequence - 1 }, signal)) {
    const { run_id } = event.data as { run_id?: string };
    if (run_id !== undefined && run_id !== run.id) continue;
    push(event);
    if (event.event_type === "session.completed" || event.event_type === "session.failed") return;
    if (mayPause(event) && statusOf(await sessions.state(run.session_id)) === "awaiting") return;
  }
}

/** Facts after which a run may have nothing left to do but wait. */
function mayPause({ event_type }: Event): boolean {
  return event_type === "await.opened" || event_type === "await.resolved" || event_type === "tool.completed";
}
