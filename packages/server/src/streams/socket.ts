import type { WebSocket } from "@fastify/websocket";
import { type GiveBack, parseInput } from "@skein/core";
import { type Draft, type Event, SocketCommand, withoutSecrets } from "@skein/protocol";
import type { FastifyInstance } from "fastify";
import { ApiError, errorAnswer } from "../http/api-error.ts";
import { type SocketOrigin, audited } from "../http/audited-commands.ts";
import { type Caller, type ServerContext, sessionIn } from "../request-context.ts";
import { SOCKET_PROTOCOL } from "../http/check-origin.ts";
import { acceptAnswer } from "../dialects/platform/awaits.ts";
import { acceptMessage } from "../dialects/platform/messages.ts";
import { requestCancel } from "../dialects/platform/sessions.ts";
import { jsonOf } from "../http/json-body.ts";
import { BODY_SHAPE } from "../http/json-shape.ts";
import { allows } from "../keys.ts";
import type { Limits } from "../http/limits.ts";
import { type FrameSink, streamSession } from "./session-stream.ts";
import { type Connection, acceptSockets, createSender, say } from "./socket-connection.ts";

/** How many sessions one connection may follow. */
const SUBSCRIPTIONS = 100;
/** How long a client may take to confirm the close. */
const GOODBYE_MS = 1000;

export function socketOptions({ bodyBytes }: Limits) {
  return {
    maxPayload: bodyBytes,
    closeTimeout: GOODBYE_MS,
    perMessageDeflate: false,
    handleProtocols: (offered: Set<string>) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
  } as const;
}

/** `/v1/ws`: sends the frames of several sessions, and accepts prompts, answers and requests to cancel. */
export function registerSocket(app: FastifyInstance, shared: ServerContext): void {
  acceptSockets(app, shared, { path: "/v1/ws", connect: createConnection });
}

function createConnection(socket: WebSocket, caller: Caller, origin: SocketOrigin): Connection {
  const following = new Map<string, AbortController>();
  const { shared, principal } = caller;

  async function receive(bytes: Buffer): Promise<void> {
    let id: string | null = null;
    let giveBack: GiveBack | undefined;
    try {
      shared.meter.request(principal.keyId);
      giveBack = await shared.places.message(principal.tenant, bytes.length);
      const given = jsonOf(bytes, BODY_SHAPE);
      id = referenceOf(given);
      const command = parseInput(SocketCommand, given);
      const result = await audited(caller, { command, origin }, () => perform(command));
      say(socket, { type: "ack", id, result });
    } catch (error) {
      const { body, isBug } = errorAnswer(error, shared.ids());
      if (isBug) shared.deps.log?.({ level: "error", route: "/v1/ws", message: withoutSecrets(String(error)) });
      say(socket, { type: "error", id, error: body.error });
    } finally {
      giveBack?.();
    }
  }

  async function perform(command: SocketCommand): Promise<unknown> {
    const { session_id } = command;
    if (command.type === "subscribe") return subscribe(session_id, command.after);
    if (command.type === "unsubscribe") {
      following.get(session_id)?.abort();
      return { session_id };
    }
    if (!allows(principal, "run")) throw new ApiError("forbidden", 'This key does not have the scope "run".');
    switch (command.type) {
      case "prompt":
        return acceptMessage(caller, { session_id }, command);
      case "answer":
        return acceptAnswer(caller, { session_id, tool_use_id: command.tool_use_id }, command);
      case "cancel":
        return requestCancel(caller, { session_id }, command);
    }
  }

  async function subscribe(sessionId: string, after: number): Promise<unknown> {
    const session = await sessionIn(caller, { session_id: sessionId });
    if (following.size >= SUBSCRIPTIONS && !following.has(sessionId))
      throw new ApiError("rate_limited", `A connection may follow at most ${SUBSCRIPTIONS} sessions.`);
    following.get(sessionId)?.abort();
    const stop = new AbortController();
    following.set(sessionId, stop);
    const sink = sinkOf(socket, { sessionId, signal: stop.signal, shared });
    const options = { sessions: caller.sessions, live: shared.deps.live, session, after: String(after) };
    // The client gets the response to its command before the frames.
    setImmediate(() => {
      void streamSession(options, sink)
        .then(() => !stop.signal.aborted && say(socket, { type: "ended", session_id: sessionId }))
        .catch(() => socket.terminate())
        .finally(() => following.get(sessionId) === stop && following.delete(sessionId));
    });
    return { session_id: sessionId };
  }

  return {
    receive,
    end() {
      for (const stop of following.values()) stop.abort();
    },
  };
}

function sinkOf(
  socket: WebSocket,
  { sessionId, signal, shared }: { sessionId: string; signal: AbortSignal; shared: ServerContext },
): FrameSink {
  const { send, trySend } = createSender(socket, { signal, shared });
  return {
    signal,
    event: (event: Event) => send({ type: "event", event }),
    draft: (draft: Draft) => trySend({ type: "draft", draft }),
    reset: () => send({ type: "reset", session_id: sessionId }),
  };
}

function referenceOf(given: unknown): string | null {
  const id = (given as { id?: unknown } | null)?.id;
  return typeof id === "string" ? id.slice(0, 100) : null;
}
