import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Effect } from "../../packages/core/src/testing/check-history/history.ts";

/**
 * Records the effects of tools in a server that is not part of Skein, so that tests find effects that happened twice.
 */
export interface EffectsServer {
  readonly url: string;
  readonly effects: Effect[];
  close(): Promise<void>;
}

/** Records each `POST /?session=&call=&policy=&by=` as an effect when it arrives, and answers a little later. */
export async function startEffectsServer(delayMs: () => number): Promise<EffectsServer> {
  const effects: Effect[] = [];
  const server: Server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://effects");
    const part = (name: string): string => searchParams.get(name) ?? "";
    effects.push({
      at: Date.now(),
      sessionId: part("session"),
      toolUseId: part("call"),
      policy: part("policy") as Effect["policy"],
      by: part("by"),
    });
    setTimeout(() => response.end("done"), delayMs());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    effects,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
