import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import type { Served } from "../fuzz/start-server.ts";
import { type Finding, until } from "./checks.ts";
import { readStream } from "./reader.ts";
import { openSession } from "./served-session.ts";

export function whyNoBrowser(): string | undefined {
  return spawnSync("chromium", ["--version"]).status === 0 ? undefined : "chromium is not installed, so it is skipped.";
}

/** Checks that Chromium's EventSource receives all events of a session. */
export async function inBrowser(served: Served, folder: string): Promise<Finding> {
  const { path, headers, talk, edit } = await openSession(served);
  await edit("ü 漢字 🌍 : \u2028 x");
  await talk(3, 10);
  const ours = await readStream(`${served.url}${path}/events`, headers);
  await until(() => ours.frames.some(({ event }) => event === "session.completed"), 30_000);
  ours.close();
  const answer = await fetch(`${served.url}${path}/events?limit=1000`, { headers });
  const { data } = (await answer.json()) as { data: { sequence: number; event_type: string }[] };
  const expected = data.map((event) => [String(event.sequence), event.event_type, JSON.stringify(event)]);
  const page = await startPage(served);
  const browser = await startBrowser(join(folder, "chromium"));
  try {
    const types = [...new Set(data.map(({ event_type }) => event_type))];
    const read = await browser.evaluate(
      page.url,
      `new Promise((resolve) => {
        const read = [];
        const source = new EventSource(${JSON.stringify(`${path}/events`)});
        for (const type of ${JSON.stringify(types)})
          source.addEventListener(type, ({ lastEventId, data }) => {
            if (read.push([lastEventId, type, data]) === ${expected.length}) resolve(JSON.stringify(read));
          });
      })`,
    );
    const isSame = read === JSON.stringify(expected);
    return {
      what: "EventSource of Chromium",
      passed: isSame,
      says: `${expected.length} events, ${isSame ? "the same" : "not the same"}`,
    };
  } finally {
    await browser.close();
    page.close();
  }
}

/** Serves a page, and forwards its requests to Skein with a key, because an EventSource cannot send a key. */
async function startPage({ url, keys }: Served): Promise<{ url: string; close: () => void }> {
  const { port } = new URL(url);
  const server = createServer((incoming, response) => {
    if (incoming.url === "/page") {
      response.setHeader("content-type", "text/html").end("<!doctype html><title>Wire</title>");
      return;
    }
    const headers = { accept: incoming.headers.accept, host: `127.0.0.1:${port}`, "x-api-key": keys.admin };
    const forwarded = request({ port, host: "127.0.0.1", path: incoming.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => forwarded.destroy());
    forwarded.on("error", () => response.destroy());
    forwarded.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts headless Chromium, and controls it over its debugging socket. */
async function startBrowser(profile: string) {
  const args = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
  ];
  const child = spawn("chromium", [...args, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      const found = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error("Chromium did not start.")));
  });
  const socket = new WebSocket(address);
  await once(socket, "open");
  let last = 0;
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.on("message", (text: Buffer) => {
    const answer = JSON.parse(String(text)) as Answer;
    waiting.get(answer.id)?.(answer);
  });
  const send = (method: string, params: object, sessionId?: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, ({ result, error }) => (result ? resolve(result) : reject(new Error(error?.message))));
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  return {
    async evaluate(url: string, expression: string): Promise<string> {
      const { targetId } = (await send("Target.createTarget", { url: "about:blank" })) as { targetId: string };
      const { sessionId } = (await send("Target.attachToTarget", { targetId, flatten: true })) as { sessionId: string };
      await send("Page.enable", {}, sessionId);
      await send("Page.navigate", { url }, sessionId);
      // Waits until the browser shows the page instead of about:blank.
      for (;;) {
        const { result } = (await send("Runtime.evaluate", { expression: "location.href" }, sessionId)) as Evaluated;
        if (result.value === url) break;
      }
      const { result } = (await send(
        "Runtime.evaluate",
        { expression, awaitPromise: true, timeout: 20_000 },
        sessionId,
      )) as Evaluated;
      return result.value;
    },
    async close(): Promise<void> {
      socket.close();
      child.kill("SIGKILL");
      await exited;
    },
  };
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Evaluated {
  readonly result: { readonly value: string };
}
