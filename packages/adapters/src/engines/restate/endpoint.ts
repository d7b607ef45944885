import { once } from "node:events";
import { type Http2Server, type ServerHttp2Session, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import * as restate from "@restatedev/restate-sdk";
import { KnownError } from "@skein/protocol";

export interface EndpointOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The name of the virtual object. Workers with the same name share their sessions. */
  readonly service: string;
  /** The public keys of the Restate clusters that may call. Without keys, anybody who can reach the port may call. */
  readonly identityKeys: readonly string[];
}

/**
 * Works on a session for a while. The signal aborts when Restate has ended the attempt. An error makes Restate try
 * again.
 */
type DriveSlice = (sessionId: string, attemptOver: AbortSignal) => Promise<void>;

/** The endpoint at which Restate gives sessions to this worker: a virtual object per session, over HTTP/2. */
export interface RestateEndpoint {
  readonly port: number;
  /**
   * Sets the function that works on sessions. Before this call, every attempt is rejected, and Restate retries the
   * attempt.
   */
  serve(drive: DriveSlice): void;
  close(): Promise<void>;
}

/**
 * A timeout that no work on a session reaches. A shorter timeout is not needed to notice a worker that hangs, because
 * the connection has pings for this.
 */
const SILENCE = { hours: 24 };

export async function listenForRestate(options: EndpointOptions): Promise<RestateEndpoint> {
  let drive: DriveSlice = async () => {
    throw new restate.RetryableError("This worker is starting.");
  };
  const session = restate.object({
    name: options.service,
    handlers: {
      drive: restate.handlers.object.exclusive(
        {
          // Restate keeps no journal, because only the log of the session counts.
          journalRetention: 0,
          idempotencyRetention: { minutes: 5 },
          inactivityTimeout: SILENCE,
          abortTimeout: SILENCE,
          enableLazyState: true,
          // A wake-up (a call of `drive`) that no worker could handle is dropped, so that it never blocks its session.
          // The workers' search for due sessions sends another wake-up.
          retryPolicy: {
            initialInterval: 50,
            exponentiationFactor: 2,
            maxInterval: 1000,
            maxAttempts: 30,
            onMaxAttempts: "kill",
          },
        },
        async (context: restate.ObjectContext): Promise<void> => {
          await drive(context.key, context.request().attemptCompletedSignal);
        },
      ),
    },
  });
  const handler = restate.createEndpointHandler({
    services: [session],
    identityKeys: [...options.identityKeys],
    logger: () => {},
  });
  const server = createServer(handler);
  const connections = new Set<ServerHttp2Session>();
  server.on("session", (connection) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (by) => void (drive = by),
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const connection of connections) connection.destroy();
      await closed;
    },
  };
}

async function listen(server: Http2Server, { host, port }: EndpointOptions): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    throw new KnownError(
      "invalid",
      `The endpoint for Restate cannot listen on ${host}:${port}: ${(error as Error).message}. Set SKEIN_RESTATE_ENDPOINT to a free address.`,
      { cause: error },
    );
  }
}
