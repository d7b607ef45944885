import type { WebSocket } from "@fastify/websocket";
import { type GiveBack, parseInput } from "@skein/core";
import { ClaudeSocketMessage, QueryRequest, type StreamEvent, withoutSecrets } from "@skein/protocol";
import { ApiError, errorAnswer } from "../../http/api-error.ts";
import { type SocketOrigin, audited } from "../../http/audited-commands.ts";
import type { Caller } from "../../request-context.ts";
import { jsonOf } from "../../http/json-body.ts";
import { BODY_SHAPE } from "../../http/json-shape.ts";
import { allows } from "../../keys.ts";
import { type Connection, createSender, say } from "../../streams/socket-connection.ts";
import { acceptQuery, claudeSession } from "./accept.ts";
import type { AskedRun } from "./requested-run.ts";
import { answer, control, interrupt } from "./handlers.ts";
import { sendRun } from "./run-frames.ts";
import { currentRun, runAfter, stopRun } from "./stream.ts";

export const CLAUDE_SOCKET = "/api/v1/query/ws";

/**
 * Creates a connection for `/api/v1/query/ws`. The client sends prompts, interrupts, answers and controls. The server
 * sends the frames of the runs. A message without a session id is for the last session of the connection.
 */
export function createClaudeConnection(socket: WebSocket, caller: Caller, origin: SocketOrigin): Connection {
  const { shared, principal } = caller;
  const runs = new Map<string, { readonly stop: AbortController; readonly run: AskedRun; stopOnDisconnect: boolean }>();
  let current: string | undefined;
  let before = Promise.resolve();

  /** Handles one message after another, so that an interrupt stops the run of the prompt before it. */
  function receive(bytes: Buffer): Promise<void> {
    before = before.then(() => heard(bytes));
    return before;
  }

  async function heard(bytes: Buffer): Promise<void> {
    let giveBack: GiveBack | undefined;
    try {
      shared.meter.request(principal.keyId);
      giveBack = await shared.places.message(principal.tenant, bytes.length);
      const given = jsonOf(bytes, BODY_SHAPE);
      const message = parseInput(ClaudeSocketMessage, given);
      const scope = message.type === "attach" ? "read" : "run";
      const work = async (): Promise<Record<string, unknown>> => {
        if (!allows(principal, scope)) throw new ApiError("forbidden", `This key does not have the scope "${scope}".`);
        return perform(message, given);
      };
      say(socket, { type: "ack", ...(await audited(caller, { command: message, origin }, work)) });
    } catch (error) {
      const { body, isBug } = errorAnswer(error, shared.ids(), CLAUDE_SOCKET);
      if (isBug) shared.deps.log?.({ level: "error", route: CLAUDE_SOCKET, message: withoutSecrets(String(error)) });
      say(socket, { type: "error", ...body.error });
    } finally {
      giveBack?.();
    }
  }

  async function perform(message: ClaudeSocketMessage, raw: unknown): Promise<Record<string, unknown>> {
    if (message.type === "prompt") return prompt(message, raw);
    const session_id = message.session_id ?? current;
    if (session_id === undefined)
      throw new ApiError("SESSION_NOT_FOUND", "This connection has no session yet: send a prompt, or a session_id.");
    current = session_id;
    switch (message.type) {
      case "attach":
        return attach(session_id, message.last_event_id ?? undefined);
      case "interrupt":
        return { message: "interrupted", ...(await interrupt(caller, session_id)) };
      case "answer":
        return { message: "answered", session_id, tool_use_id: await answer(caller, session_id, message) };
      case "control":
        await control(caller, session_id, message);
        return { message: "changed", session_id };
    }
  }

  async function attach(session_id: string, lastEventId: string | undefined): Promise<Record<string, unknown>> {
    await claudeSession(caller, session_id);
    const run =
      lastEventId === undefined
        ? await currentRun(caller, session_id)
        : await runAfter(caller, lastEventId, { sessionId: session_id, field: "last_event_id" });
    setImmediate(() => follow(run, false));
    return { message: "attached", session_id, run_id: run.runId };
  }

  async function prompt(
    {
      type: _,
      content,
      prompt: words = content,
      session_id,
      ...rest
    }: Extract<ClaudeSocketMessage, { type: "prompt" }>,
    raw: unknown,
  ): Promise<Record<string, unknown>> {
    const continued = session_id ?? (rest.continue_conversation ? undefined : current);
    const body = parseInput(QueryRequest, { ...rest, prompt: words, session_id: continued });
    const run = await acceptQuery(caller, body, raw, "replace");
    current = run.sessionId;
    // The client gets the `ack` for its message before the frames of the run.
    setImmediate(() => follow(run, body.stop_on_disconnect));
    return { message: "accepted", session_id: run.sessionId, run_id: run.runId };
  }

  function follow(run: AskedRun, stopOnDisconnect: boolean): void {
    // If the prompt answered a question, the frames of its run are already being sent.
    const known = runs.get(run.runId);
    if (known) {
      known.stopOnDisconnect ||= stopOnDisconnect;
      return;
    }
    const stop = new AbortController();
    runs.set(run.runId, { stop, run, stopOnDisconnect });
    const { send, trySend } = createSender(socket, { signal: stop.signal, shared });
    const sink = {
      signal: stop.signal,
      frame: (frame: StreamEvent) => send({ type: "sse_event", ...frame }),
      partial: (frame: StreamEvent) => trySend({ type: "sse_event", ...frame }),
    };
    void sendRun({ ...shared.deps, sessions: caller.sessions, run }, sink)
      .then((isOver) => isOver && runs.delete(run.runId))
      .catch(() => socket.terminate());
  }

  return {
    receive,
    end() {
      for (const { stop, run, stopOnDisconnect } of runs.values()) {
        stop.abort();
        if (stopOnDisconnect) void stopRun(caller, run);
      }
    },
  };
}
