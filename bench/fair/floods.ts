import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { script } from "@skein/simulator";
import { type Served, begin, call, prompt } from "./served.ts";

/**
 * Floods the server with requests of one tenant until `signal` aborts. Calls `took` for each request that the server
 * accepted, or each webhook notice that the receiver got.
 */
export type Flood = (
  server: Served,
  told: { readonly signal: AbortSignal; readonly took: () => void },
) => Promise<void>;

/** Makes a message of almost 32 MiB, the limit, with a PDF of the largest allowed size and an image. */
function largestMessage(): string {
  const block = (type: string, media_type: string, head: string, bytes: number): object => {
    const data = Buffer.concat([Buffer.from(head, "latin1"), Buffer.alloc(bytes - head.length)]).toString("base64");
    return { type, source: { type: "base64", media_type, data } };
  };
  const MIB = 1024 * 1024;
  const content = [
    block("document", "application/pdf", "%PDF-1.7\n", 20 * MIB),
    block("image", "image/png", "\x89PNG\r\n\x1a\n", 3.2 * MIB),
  ];
  return JSON.stringify({ role: "user", content });
}

export const FLOODS = {
  /** Starts 150 runs that call a tool which takes 25 s. */
  async runs(server, { signal, took }) {
    const steps = [{ tools: [{ name: "slow" }] }, { text: "Done." }];
    for (let each = 0; each < 150 && !signal.aborted; each++)
      await prompt(server, server.flood, { steps, tools: ["slow"] }).then(took, () => delay(50));
  },
  sql: (server, { signal, took }) =>
    inParallel(8, signal, async () => {
      const sql = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b";
      const { status } = await call(server, server.flood, { path: "/v1/sql", body: { sql }, signal });
      // The status 422 means that the statement was accepted and reached the time limit.
      if (status === 422) took();
    }),
  async bodies(server, { signal, took }) {
    const body = largestMessage();
    await inParallel(4, signal, async () => {
      const id = await begin(server, server.flood);
      const { status } = await call(server, server.flood, { path: `/v1/sessions/${id}/messages`, body, signal });
      if (status === 202) took();
    });
  },
  async streams(server, { signal, took }) {
    const id = await begin(server, server.flood);
    await inParallel(200, signal, async () => {
      const headers = { "x-api-key": server.flood, accept: "text/event-stream" };
      const answer = await fetch(`${server.url}/v1/sessions/${id}/events`, { headers, signal });
      if (answer.status !== 200) return delay(100);
      took();
      for await (const _ of answer.body ?? []) continue;
    });
  },
  /** Causes webhook notices to a receiver that takes 5 s for each notice. */
  async webhooks(server, { signal, took }) {
    const receiver = await slowReceiver(took);
    try {
      const { port } = receiver.address() as AddressInfo;
      for (let each = 0; each < 20; each++) {
        const body = { url: `http://127.0.0.1:${port}/hook`, events: ["session.completed"] };
        await call(server, server.flood, { path: "/v1/webhooks", body });
      }
      await inParallel(4, signal, () => prompt(server, server.flood, { steps: [{ text: "Done." }] }));
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  },
  claude: (server, { signal, took }) =>
    inParallel(24, signal, async () => {
      const body = { prompt: `Go. ${script([{ text: "Done.", delayMs: 1000 }], "Go.")}` };
      const { status } = await call(server, server.flood, { path: "/api/v1/query/single", body, signal });
      if (status === 200) took();
    }),
} as const satisfies Record<string, Flood>;

async function slowReceiver(visited: () => void): Promise<Server> {
  const server = createServer((_, response) => {
    visited();
    setTimeout(() => response.writeHead(204).end(), 5000);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function inParallel(width: number, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  const again = async (): Promise<void> => {
    while (!signal.aborted) await work().catch(() => delay(50));
  };
  await Promise.all(Array.from({ length: width }, again));
}
