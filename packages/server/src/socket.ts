import type { WebSocket } from "@fastify/websocket";
import { parsed } from "@skein/core";
import { type Draft, type Event, SocketCommand } from "@skein/protocol";
import type { FastifyInstance } from "fastify";
import { ApiError, errorAnswer } from "./api-error.ts";
import { type Caller, type Shared, sessionIn } from "./call.ts";
import { SOCKET_PROTOCOL } from "./guard.ts";
import { acceptAnswer } from "./handlers/awaits.ts";
import { acceptMessage } from "./handlers/messages.ts";
import { requestCancel } from "./handlers/sessions.ts";
import { jsonOf } from "./json-body.ts";
import { BODY_SHAPE } from "./json-shape.ts";
import { allows } from "./keys.ts";
import type { Limits } from "./limits.ts";
import { type FrameSink, streamSession } from "./session-stream.ts";
import { withoutSecrets } from "./without-secrets.ts";

/** Sessions that one connection may follow. */
const SUBSCRIPTIONS = 100;
/** Close codes: going away, of a kind that is not taken, revoked. */
const AWAY = 1001;
const NOT_TEXT = 1003;
const REVOKED = 4401;

export function socketOptions({ bodyBytes }: Limits) {
  return {
    maxPayload: bodyBytes,
    perMessageDeflate: false,
    handleProtocols: (offered: Set<string>) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
  } as const;
}

/** `/v1/ws`: the same frames as the streams, of several sessions, and prompts, answers and cancels the other way. */
export function registerSocket(app: FastifyInstance, shared: Shared): void {
  app.get("/v1/ws", { websocket: true }, (socket, request) => {
    const { principal } = request;
    if (!principal) return socket.close(REVOKED);
    let giveBack: () => void;
    try {
      giveBack = shared.meter.stream(principal.keyId);
    } catch {
      return socket.close(1013, "too many streams");
    }
    const caller: Caller = { shared, principal, ...shared.viewOf(principal.tenant), idempotency: undefined };
    const remove = shared.streams.add({
      keyId: principal.keyId,
      close(reason) {
        say(socket, { type: "closing", reason });
        socket.close(reason === "revoked" ? REVOKED : AWAY, reason);
      },
    });
    const connection = createConnection(socket, caller);
    const stopPinging = keepAlive(socket, shared.limits.heartbeatMs);
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) return socket.close(NOT_TEXT, "text only");
      void connection.receive(data);
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      stopPinging();
      remove();
      giveBack();
      connection.end();
    });
  });
}

/** Notices a client that is gone without saying so. */
function keepAlive(socket: WebSocket, everyMs: number): () => void {
  let answered = true;
  socket.on("pong", () => (answered = true));
  const timer = setInterval(() => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
  }, everyMs);
  return () => clearInterval(timer);
}

function createConnection(socket: WebSocket, caller: Caller) {
  const following = new Map<string, AbortController>();
  const { shared, principal } = caller;

  async function receive(bytes: Buffer): Promise<void> {
    let id: string | null = null;
    try {
      shared.meter.request(principal.keyId);
      const given = jsonOf(bytes, BODY_SHAPE);
      id = referenceOf(given);
      const result = await perform(parsed(SocketCommand, given));
      say(socket, { type: "ack", id, result });
    } catch (error) {
      const { body, isBug } = errorAnswer(error, shared.ids());
      if (isBug) shared.deps.log?.({ level: "error", route: "/v1/ws", message: withoutSecrets(String(error)) });
      say(socket, { type: "error", id, error: body.error });
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
    await sessionIn(caller, { session_id: sessionId });
    if (following.size >= SUBSCRIPTIONS)
      throw new ApiError("rate_limited", `A connection follows at most ${SUBSCRIPTIONS} sessions.`);
    following.get(sessionId)?.abort();
    const stop = new AbortController();
    following.set(sessionId, stop);
    const sink = sinkOf(socket, { sessionId, signal: stop.signal, shared });
    const options = { sessions: caller.sessions, live: shared.deps.live, sessionId, after: String(after) };
    // The answer to the command comes first, then the frames.
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
  { sessionId, signal, shared }: { sessionId: string; signal: AbortSignal; shared: Shared },
): FrameSink {
  const { backlogBytes, backlogMs } = shared.limits;
  const isBehind = (): boolean => socket.bufferedAmount > backlogBytes;

  async function caughtUp(): Promise<boolean> {
    const end = Date.now() + backlogMs;
    while (isBehind() && !signal.aborted) {
      if (Date.now() > end) {
        shared.metrics.cut();
        socket.terminate();
        return false;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return !signal.aborted;
  }

  const send = (frame: object): boolean | Promise<boolean> => {
    if (signal.aborted) return false;
    if (isBehind()) return caughtUp().then((isOpen) => isOpen && say(socket, frame));
    return say(socket, frame);
  };
  return {
    signal,
    event: (event: Event) => send({ type: "event", event }),
    draft(draft: Draft) {
      if (!isBehind()) say(socket, { type: "draft", draft });
    },
    reset: () => send({ type: "reset", session_id: sessionId }),
  };
}

function say(socket: WebSocket, frame: object): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  socket.send(JSON.stringify(frame));
  return true;
}

function referenceOf(given: unknown): string | null {
  const id = (given as { id?: unknown } | null)?.id;
  return typeof id === "string" ? id.slice(0, 100) : null;
}
