import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";
import { expect, onTestFinished, test } from "vitest";
import { finished, frames, say, session, testServer } from "../../server/test/world.ts";

// The stream is read by other projects' clients, because our own client could share a mistake with the server.

/** A frame as a client reads it. */
type Read = readonly [id: string, event: string, data: string];

/**
 * Characters that could break a line-based format: line breaks of all kinds, colons, spaces, marks and multi-byte
 * letters.
 */
const TEXT = [
  "\r\n\r\ndata: no field\nid: 7\r\rretry: 1\n",
  ": no comment",
  " a space before",
  "\u2028\u2029\u0085\u000b\f",
  "\ufeffa mark",
  "\u0000\u001b[2J",
  "ü 漢字 🌍",
  "x".repeat(200_000),
  "🌍".repeat(50_000),
].join("\n");

/** Creates a session whose log contains `TEXT`. `expected` has the frames of its events. */
async function hostileSession() {
  const server = await testServer();
  const { path } = await session(server.call);
  const { body } = await say(server.call, path, TEXT);
  await finished(server.call, path, String(body["run_id"]));
  const events = (await server.call("GET", `${path}/events?limit=1000`)).body.data;
  const expected = events.map((event): Read => [
    String(event["sequence"]),
    String(event["event_type"]),
    JSON.stringify(event),
  ]);
  return { ...server, stream: `${server.url}${path}/events`, path, expected, types: typesOf(expected) };
}

function typesOf(log: readonly Read[]): readonly string[] {
  return [...new Set(log.map(([, event]) => event))];
}

/**
 * Starts a proxy that adds the key, for clients that cannot set a header. The proxy cuts its first connection after
 * `cuts[0]` bytes, the second after `cuts[1]` bytes, and so on.
 */
async function withKey({ url, key }: { url: string; key: string }, cuts: readonly number[] = []): Promise<string> {
  const { port } = new URL(url);
  let connections = 0;
  const proxy = createServer((incoming, response) => {
    let left = cuts[connections++] ?? Number.POSITIVE_INFINITY;
    const headers = { ...incoming.headers, host: `127.0.0.1:${port}`, "x-api-key": key };
    const forwarded = request({ port, host: "127.0.0.1", path: incoming.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.on("data", (chunk: Buffer) => {
        if (left > 0)
          response.write(chunk.subarray(0, left), left <= chunk.length ? () => response.destroy() : undefined);
        left -= chunk.length;
      });
      answer.on("end", () => response.end());
    });
    response.on("close", () => forwarded.destroy());
    forwarded.on("error", () => response.destroy());
    forwarded.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Runs a program. Returns the JSON that it prints, or its error output. */
async function printed(command: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output: Buffer[] = [];
  const complaint: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => complaint.push(chunk));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(Buffer.concat(complaint).toString());
  return JSON.parse(Buffer.concat(output).toString());
}

test("the package eventsource reads the same frames as the list of events", async () => {
  const { stream, key, expected, types } = await hostileSession();
  const source = new EventSource(stream, {
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, "x-api-key": key } }),
  });
  onTestFinished(() => source.close());
  const read: Read[] = [];
  for (const type of types)
    source.addEventListener(type, ({ lastEventId, data }) => read.push([lastEventId, type, String(data)]));
  await expect.poll(() => read.length).toBe(expected.length);
  expect(read).toEqual(expected);
});

test("eventsource-client reads the same frames, and continues after a cut", async () => {
  const { path, expected, ...server } = await hostileSession();
  const cuts = [700, 2000, 300_000, 400_001];
  const url = await withKey(server, cuts);
  const read: Read[] = [];
  let connections = 0;
  const source = createEventSource({
    url: `${url}${path}/events`,
    onConnect: () => void (connections += 1),
    onMessage: ({ id, event, data }) => void read.push([id ?? "", event ?? "", data]),
  });
  onTestFinished(() => source.close());
  await expect.poll(() => read.at(-1)?.[0]).toBe(expected.at(-1)?.[0]);
  expect(connections).toBeGreaterThan(2);
  expect(read).toEqual(expected);
});

test("Node's built-in EventSource reads the same frames", async () => {
  const { path, expected, types, ...server } = await hostileSession();
  const program = `
    const [url, types, count] = JSON.parse(process.argv[1]);
    const source = new EventSource(url);
    const read = [];
    for (const type of types)
      source.addEventListener(type, ({ lastEventId, data }) => {
        if (read.push([lastEventId, type, data]) < count) return;
        source.close();
        process.stdout.write(JSON.stringify(read), () => process.exit());
      });`;
  const input = JSON.stringify([`${await withKey(server)}${path}/events`, types, expected.length]);
  const args = ["--experimental-eventsource", "--no-warnings", "--eval", program, input];
  expect(await printed(process.execPath, args)).toEqual(expected);
});

const hasRequests = spawnSync("python3", ["-c", "import requests"]).status === 0;

test.skipIf(!hasRequests)("Python with requests reads the same frames", async () => {
  const { stream, key, expected } = await hostileSession();
  const program = `
import json, sys, requests
url, key, count = json.loads(sys.argv[1])
read, fields = [], {}
with requests.get(url, headers={"x-api-key": key, "accept": "text/event-stream"}, stream=True, timeout=20) as answer:
    answer.raise_for_status()
    for line in answer.iter_lines(chunk_size=512):
        if line == b"":
            if "id" in fields: read.append([fields["id"], fields["event"], fields["data"]])
            if len(read) == count: break
            fields = {}
            continue
        name, _, value = line.decode("utf8").partition(":")
        fields[name] = value[1:] if value.startswith(" ") else value
json.dump(read, sys.stdout)`;
  expect(await printed("python3", ["-c", program, JSON.stringify([stream, key, expected.length])])).toEqual(expected);
});

test("our own client reads the same frames", async () => {
  const { stream, key, expected } = await hostileSession();
  const read = await frames(stream, {
    headers: { "x-api-key": key },
    isLast: ({ id }) => id === expected.at(-1)?.[0],
  });
  expect(read.map(({ id, event, data }) => [id, event, JSON.stringify(data)])).toEqual(expected);
});
