import { type Live, type LiveFrame, type Sessions, formatStream, liveItems, statusOf } from "@skein/core";
import type { Event, Message } from "@skein/protocol";
import { type Call, type Handlers, sessionIn } from "../call.ts";
import { answerWithStream } from "../stream-answer.ts";
import { runIn } from "./runs.ts";

/** A run in one of seed 002's text forms, live. */
export const runTextHandlers = {
  async streamRunText({ params, query }, call) {
    const run = await awaitedRun(call, params);
    const { agent } = await call.sessions.state(run.sessionId);
    const meta = agent?.stream_meta_history_and_tool_results ?? false;
    const { shared, sessions } = call;
    return answerWithStream(call, () => ({
      async send(sse) {
        const history: Message[] = [];
        const items = withHistory({ sessions, live: shared.deps.live, run, history }, sse.signal);
        const options = { meta, history };
        for await (const text of formatStream(query.format ?? agent?.formatter ?? "json", items, options))
          if (!(await sse.send(frameOf(text)))) break;
        return ": the end\n\n";
      },
      closing: () => undefined,
    }));
  },
} satisfies Partial<Handlers>;

/** Text of several lines is several `data:` lines of one frame. */
function frameOf(text: string): string {
  return `data: ${text.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}

/** A run that is to be read. */
interface AwaitedRun {
  readonly id: string;
  readonly sessionId: string;
  /** Nothing of it stands in the log before this. */
  readonly after: number;
}

interface RunItems {
  readonly sessions: Sessions;
  readonly live: Live;
  readonly run: AwaitedRun;
}

/** The run of a path. One whose prompt was accepted has its turn still to come: it is waited for. */
async function awaitedRun(
  call: Call,
  params: { session_id: string; agent_id?: string | undefined; run_id: string },
): Promise<AwaitedRun> {
  const { id: sessionId } = await sessionIn(call, params);
  const { queue, sequence } = await call.sessions.state(sessionId);
  if (isQueued(queue, params.run_id)) return { id: params.run_id, sessionId, after: sequence };
  const { id, first_sequence } = await runIn(call, params);
  return { id, sessionId, after: first_sequence - 1 };
}

function isQueued(queue: readonly { readonly run_id: string }[], runId: string): boolean {
  return queue.some(({ run_id }) => run_id === runId);
}

/** The items of a run; before its first one is handed on, what was said before the run is there. */
async function* withHistory(
  { history, ...parts }: RunItems & { readonly history: Message[] },
  signal: AbortSignal,
): AsyncGenerator<Event | LiveFrame> {
  for await (const item of runItems(parts, signal)) {
    if ("event_type" in item && item.event_type === "session.started") {
      const transcript = await parts.sessions.transcript(parts.run.sessionId);
      const prompt = transcript.findIndex(({ id }) => id === item.data.message_id);
      history.push(...transcript.slice(0, prompt === -1 ? undefined : prompt));
    }
    yield item;
  }
}

/** The facts of a run, and what its steps say while they are made, until it is over or waits for somebody. */
function runItems({ sessions, live, run }: RunItems, signal: AbortSignal): AsyncGenerator<Event | LiveFrame> {
  const facts = (stop: AbortSignal): AsyncIterable<Event> => runFacts(sessions, run, stop);
  const isWanted = ({ run_id }: LiveFrame): boolean => run_id === run.id;
  return liveItems({ live, sessionId: run.sessionId, facts, isWanted }, signal);
}

async function* runFacts(sessions: Sessions, run: AwaitedRun, signal: AbortSignal): AsyncGenerator<Event> {
  let begun = false;
  for await (const event of sessions.follow(run.sessionId, { after: run.after }, signal)) {
    const { run_id } = event.data as { run_id?: string };
    begun ||= event.event_type === "session.started" && run_id === run.id;
    // It was cancelled before its turn, or another run has read its prompt: it will never begin.
    if (!begun && !isQueued((await sessions.state(run.sessionId)).queue, run.id)) {
      const runs = await sessions.runs(run.sessionId, { limit: 1 });
      if (!runs.items.some(({ id }) => id === run.id)) return;
    }
    if (!begun || (run_id !== undefined && run_id !== run.id)) continue;
    yield event;
    if (event.event_type === "session.completed" || event.event_type === "session.failed") return;
    if (mayPause(event) && statusOf(await sessions.state(run.sessionId)) === "awaiting") return;
  }
}

/** Facts after which a run may have nothing left to do but wait. */
function mayPause({ event_type }: Event): boolean {
  return event_type === "await.opened" || event_type === "await.resolved" || event_type === "tool.completed";
}
