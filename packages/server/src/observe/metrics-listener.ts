import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { KnownError } from "@skein/protocol";
import { METRICS_TYPE } from "./metrics-text.ts";

const LOOPBACK = "127.0.0.1";
const NAMES: ReadonlySet<string> = new Set([LOOPBACK, "localhost"]);

/** Serves `/metrics` without a key, on a loopback port, for a Prometheus on the same machine. */
export interface MetricsListener {
  readonly url: string;
  close(): Promise<void>;
}

export async function listenForMetrics(port: number, text: () => Promise<string>): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
    };
    // A page of another site could make a host name of that site point to this address.
    const host = (request.headers.host ?? "").replace(/:\d+$/, "").toLowerCase();
    if (!NAMES.has(host)) return answer(403, "text/plain", "This port answers only requests from this machine.\n");
    if (request.method !== "GET" || request.url !== "/metrics")
      return answer(404, "text/plain", "Only GET /metrics is answered here.\n");
    text().then(
      (payload) => answer(200, METRICS_TYPE, payload),
      () => answer(503, "text/plain", "The metrics cannot be read now.\n"),
    );
  });
  await listening(server, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${LOOPBACK}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = `Port ${port} of ${LOOPBACK}, for /metrics, is taken. Set SKEIN_METRICS_PORT to another port, or to 0 for a free one.`;
      reject(error.code === "EADDRINUSE" ? new KnownError("invalid", taken) : error);
    });
    server.listen(port, LOOPBACK, () => resolve());
  });
}
