import { type WatchedRun, isOfRun, watchRun } from "@skein/core";
import { type DraftPiece, type Event, formatStream, type Message } from "@skein/protocol";
import { type RequestContext, type Handlers, sessionIn } from "../../request-context.ts";
import { answerWithStream } from "../../streams/stream-answer.ts";
import { runIn } from "./runs.ts";

/** A run as a stream of text, in the format that the query or the agent's `formatter` names. */
export const runTextHandlers = {
  async streamRunText({ params, query }, call) {
    const run = await awaitedRun(call, params);
    const { agent } = await call.sessions.state(run.sessionId);
    const meta = agent?.stream_meta_history_and_tool_results ?? false;
    return answerWithStream(call, () => ({
      async send(sse) {
        const history: Message[] = [];
        const items = runItems(call, { run, history }, sse.signal);
        const format = query.format ?? agent?.formatter ?? "json";
        for await (const text of formatStream(format, items, { meta, history }))
          if (!(await sse.send(frameOf(text)))) break;
        return ": the end\n\n";
      },
      closing: () => undefined,
    }));
  },
} satisfies Partial<Handlers>;

/** One SSE frame. Each line of the text is a `data:` line. */
function frameOf(text: string): string {
  return `data: ${text.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}

/** A run to read, which may not have begun. */
type AwaitedRun = Pick<WatchedRun, "sessionId" | "runId" | "messageId" | "after">;

/** Returns the run of the path, even if the run has not begun because its prompt is still in the queue. */
async function awaitedRun(
  call: RequestContext,
  params: { session_id: string; agent_id?: string | undefined; run_id: string },
): Promise<AwaitedRun> {
  const { id: sessionId } = await sessionIn(call, params);
  const { queue, sequence } = await call.sessions.state(sessionId);
  const queued = queue.find(({ run_id }) => run_id === params.run_id);
  if (queued) return { runId: queued.run_id, messageId: queued.message_id, sessionId, after: sequence };
  const { id: runId, first_sequence } = await runIn(call, params);
  return { runId, sessionId, after: first_sequence - 1 };
}

/**
 * Yields the events of a run and the draft pieces of the model's answers, until the run is over or waits for a person
 * or the client. Fills `history` with the messages before the run before it yields the first item.
 */
async function* runItems(
  { sessions, shared: { deps } }: RequestContext,
  { run, history }: { readonly run: AwaitedRun; readonly history: Message[] },
  signal: AbortSignal,
): AsyncGenerator<Event | DraftPiece> {
  const { runId, sessionId } = run;
  const isWanted = ({ run_id }: DraftPiece): boolean => run_id === runId;
  const watch = watchRun({ store: deps.store, sessions }, { ...run, stopsAtWait: "run" });
  let hasStarted = false;
  for await (const item of watch.items({ live: deps.live, isWanted }, signal)) {
    const isEvent = "event_type" in item;
    if (isEvent && !isOfRun(item, runId)) continue;
    if (isEvent && item.event_type === "session.started") {
      hasStarted = true;
      const transcript = await sessions.transcript(sessionId);
      const prompt = transcript.findIndex(({ id }) => id === item.data.message_id);
      history.push(...transcript.slice(0, prompt === -1 ? undefined : prompt));
    }
    if (hasStarted) yield item;
  }
}
