import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createFileStore } from "./file-store.ts";
import { randomIds, type Ids } from "./ids.ts";
import { createLedger, type Ledger, type LedgerOptions } from "./ledger.ts";
import { createModelRoute } from "./model-route.ts";
import { createPromptCache } from "./prompt-cache.ts";
import { createHandler } from "./routes.ts";

export interface SimulatorOptions extends LedgerOptions {
  /** Default: 0, a free port. */
  readonly port?: number;
  /** The clock, in milliseconds since 1970. It decides when cached prefixes and containers expire. */
  readonly now?: () => number;
  readonly ids?: Ids;
  /** Milliseconds between the pieces of an answer without a script. Default: 0. */
  readonly demoDelayMs?: number;
  /** Whether the simulator keeps the process alive. Default: true. */
  readonly keepsProcess?: boolean;
}

/** A running simulator. It implements the APIs of four providers, and its answers cost nothing. */
export interface Simulator {
  /** The address for `baseURL` and `ANTHROPIC_BASE_URL`. OpenAI's client needs `/v1` appended. */
  readonly url: string;
  readonly port: number;
  readonly ledger: Ledger;
  /** Closes the simulator, and ends calls in progress. May be called twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// More precise than Date.now, for the durations in the ledger.
const preciseNow = (): number => performance.timeOrigin + performance.now();

/** Starts a simulator on 127.0.0.1; no other machine can reach it. */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, now = preciseNow, ids = randomIds, demoDelayMs = 0, keepsProcess = true } = options;
  const ledger = createLedger({ now, ids }, options);
  const files = createFileStore({ ids, now });
  const cache = createPromptCache({ now });
  const answerModel = createModelRoute({ ids, now, files, cache, demoDelayMs });
  const handle = createHandler({ ledger, files, answerModel });

  // Idle connections stay open, because closing them would look like a fault to a client's connection pool.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => void handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });

  if (!keepsProcess) server.on("connection", (socket) => socket.unref()).unref();

  let closing: Promise<void> | null = null;
  function close(): Promise<void> {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  }

  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    ledger,
    close,
    [Symbol.asyncDispose]: close,
  };
}
