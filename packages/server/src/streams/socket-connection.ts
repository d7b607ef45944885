import type { WebSocket } from "@fastify/websocket";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "../http/api-error.ts";
import { LARGE } from "../http/json-body.ts";
import { openStreamPlace } from "./stream-place.ts";
import type { SocketOrigin } from "../http/audited-commands.ts";
import type { Caller, ServerContext } from "../request-context.ts";

/** Handles the messages of one socket. */
export interface Connection {
  receive(bytes: Buffer): Promise<void>;
  /** Called when the client has disconnected. */
  end(): void;
}

/** Close codes: going away, unsupported message type, revoked key. */
const AWAY = 1001;
const NOT_TEXT = 1003;
const REVOKED = 4401;
/** How many messages of one client are handled at the same time. At this number, reading from the socket pauses. */
const AT_ONCE = 8;

/** Accepts WebSockets at a path. A WebSocket counts as a stream of its key, and is closed when the key is revoked. */
export function acceptSockets(
  app: FastifyInstance,
  shared: ServerContext,
  { path, connect }: { path: string; connect: (socket: WebSocket, caller: Caller, origin: SocketOrigin) => Connection },
): void {
  const handler = (): never => {
    throw new ApiError("malformed", "This route is a WebSocket: expected an upgrade request.", {
      headers: { upgrade: "websocket" },
    });
  };
  const wsHandler = (socket: WebSocket, request: FastifyRequest): void => {
    const { principal } = request;
    if (!principal) return socket.close(REVOKED);
    let giveBack: () => void;
    try {
      giveBack = openStreamPlace({ shared, principal });
    } catch {
      return socket.close(1013, "too many streams");
    }
    const caller: Caller = { shared, principal, ...shared.viewOf(principal), idempotency: undefined };
    const remove = shared.streams.add({
      principal,
      close(reason) {
        say(socket, { type: "closing", reason });
        socket.close(reason === "revoked" ? REVOKED : AWAY, reason);
      },
    });
    const connection = connect(socket, caller, { address: request.ip, request_id: request.id });
    const stopPinging = keepAlive(socket, shared.limits.heartbeatMs);
    const hold = createHold(socket, shared);
    socket.on("ping", hold.check);
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) return socket.close(NOT_TEXT, "text only");
      void connection.receive(data).finally(hold.begin(data.length > LARGE));
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      stopPinging();
      remove();
      giveBack();
      connection.end();
    });
  };
  app.route({ method: "GET", url: path, handler, wsHandler });
}

/**
 * Pauses reading from a client that does not read its answers, or has too many messages in progress. This saves memory.
 */
function createHold(socket: WebSocket, shared: ServerContext): { check(): void; begin(isLarge: boolean): () => void } {
  let open = 0;
  let isHeld = false;

  async function hold(): Promise<void> {
    isHeld = true;
    socket.pause();
    const isOpen = await caughtUp(socket, shared);
    isHeld = false;
    if (isOpen) resume();
  }
  const resume = (): void => {
    if (!isHeld && open < AT_ONCE && socket.isPaused) socket.resume();
  };
  const check = (): void => {
    if (!isHeld && isBehind(socket, shared)) void hold();
  };
  return {
    check,
    begin(isLarge) {
      // While a large message waits for memory, nothing more is read.
      const weight = isLarge ? AT_ONCE : 1;
      open += weight;
      if (open >= AT_ONCE) socket.pause();
      return () => {
        open -= weight;
        check();
        resume();
      };
    },
  };
}

function isBehind(socket: WebSocket, { limits }: ServerContext): boolean {
  return socket.bufferedAmount > limits.backlogBytes;
}

/**
 * Waits until a slow client has caught up. Disconnects the client after `backlogMs`. Returns false if the connection is
 * over.
 */
async function caughtUp(socket: WebSocket, shared: ServerContext, signal?: AbortSignal): Promise<boolean> {
  const isOver = (): boolean => signal?.aborted || socket.readyState !== socket.OPEN;
  const end = performance.now() + shared.limits.backlogMs;
  while (isBehind(socket, shared) && !isOver()) {
    if (performance.now() > end) {
      shared.metrics.cut();
      socket.terminate();
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return !isOver();
}

/** Sends over a socket. Waits up to `backlogMs` for a client that does not read, and then disconnects it. */
export interface Sender {
  send(frame: object): boolean | Promise<boolean>;
  /** Sends a frame only if the client is not behind. */
  trySend(frame: object): void;
}

export function createSender(
  socket: WebSocket,
  { signal, shared }: { readonly signal: AbortSignal; readonly shared: ServerContext },
): Sender {
  return {
    send(frame) {
      if (signal.aborted) return false;
      if (isBehind(socket, shared))
        return caughtUp(socket, shared, signal).then((isOpen) => isOpen && say(socket, frame));
      return say(socket, frame);
    },
    trySend(frame) {
      if (!isBehind(socket, shared)) say(socket, frame);
    },
  };
}

export function say(socket: WebSocket, frame: object): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  socket.send(JSON.stringify(frame));
  return true;
}

/** Pings a client. Disconnects a client that does not answer. */
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
