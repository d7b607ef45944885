/** The proxy through which Claude Code reaches the addresses that a request names. */
import { createServer, request } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { ClaudeSettings, createClaudePolicy, createGuardedProxy } from "@skein/adapters/runtimes/claude-code/policy";
import { createMemoryStore } from "@skein/core";
import { ClaudeOptions } from "@skein/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorld, folder, only, play } from "./world.ts";

type Lookup = NonNullable<Parameters<typeof createGuardedProxy>[0]["lookup"]>;

const anyPort = { allowsPort: () => true };
const here = { ...anyPort, allowsAddress: (address: string) => address === "127.0.0.1" };

/** Returns a DNS lookup that gives these answers one after another. */
function meaning(...answers: string[][]): Lookup {
  let asked = 0;
  return ((_name: string, _options: object, done: (error: null, found: object[]) => void) => {
    const answer = answers[asked % answers.length] ?? [];
    asked += 1;
    done(
      null,
      answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as unknown as Lookup;
}

/** Starts a server on this machine that counts its calls. */
async function listener() {
  const calls: (string | undefined)[] = [];
  const server = createServer((incoming, answer) => {
    calls.push(incoming.headers.host);
    answer.setHeader("x-seen", JSON.stringify(incoming.headers));
    incoming.pipe(answer);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, calls };
}

async function proxyWith(places: Parameters<typeof createGuardedProxy>[0]) {
  const proxy = await createGuardedProxy(places);
  onTestFinished(() => proxy.close());
  const { port, username, password } = new URL(proxy.url);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

  function plain(url: string, body = "", headers: Record<string, string> = { "proxy-authorization": authorization }) {
    return new Promise<{ status: number; text: string; seen: string }>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, method: "POST", path: url, headers }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text, seen: String(response.headers["x-seen"]) }),
        );
      });
      sent.on("error", reject).end(body);
    });
  }
  function connect(place: string, headers: Record<string, string> = { "proxy-authorization": authorization }) {
    return new Promise<number>((resolve, reject) => {
      request({ host: "127.0.0.1", port, method: "CONNECT", path: place, headers })
        .on("connect", ({ statusCode = 0 }, socket) => {
          socket.destroy();
          resolve(statusCode);
        })
        .on("error", reject)
        .end();
    });
  }
  return { url: proxy.url, plain, connect };
}

test("the proxy connects to an allowed address, and does not forward its password", async () => {
  const { port, calls } = await listener();
  const proxy = await proxyWith({ ...here, lookup: meaning(["127.0.0.1"]) });
  const { status, text, seen } = await proxy.plain(`http://mcp.example.com:${port}/mcp`, "hello");
  expect([status, text]).toEqual([200, "hello"]);
  expect(seen).not.toContain("proxy-authorization");
  expect(calls).toEqual([`mcp.example.com:${port}`]);
  expect(await proxy.connect(`mcp.example.com:${port}`)).toBe(200);
});

test("a request without the password is rejected", async () => {
  const { port, calls } = await listener();
  const proxy = await proxyWith(here);
  const url = `http://127.0.0.1:${port}/`;
  expect((await proxy.plain(url, "", {})).status).toBe(407);
  expect((await proxy.plain(url, "", { "proxy-authorization": "Basic x" })).status).toBe(407);
  expect(await proxy.connect(`127.0.0.1:${port}`, {})).toBe(407);
  expect(calls).toEqual([]);
});

describe("what the proxy does not reach", () => {
  test.each(["127.0.0.1", "2130706433", "[::ffff:7f00:1]", "0"])(
    "a private address that is written as %s is not reached",
    async (address) => {
      const { port, calls } = await listener();
      const proxy = await proxyWith(anyPort);
      expect((await proxy.plain(`http://${address}:${port}/`)).status).toBe(403);
      expect(await proxy.connect(`${address}:${port}`)).toBe(403);
      expect(calls).toEqual([]);
    },
  );

  test("a name that resolves differently each time never reaches a private address in 100 calls", async () => {
    const { port, calls } = await listener();
    let connections = 0;
    const raw = createTcpServer(() => (connections += 1));
    await new Promise<void>((resolve) => void raw.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void raw.close());
    const lookup = meaning(["127.0.0.1"], ["0.0.0.0"], ["93.184.216.34", "127.0.0.1"], ["::1"]);
    const proxy = await proxyWith({ ...anyPort, lookup });
    for (let time = 0; time < 50; time += 1) {
      expect((await proxy.plain(`http://mcp.example.com:${port}/`)).status).toBe(502);
      expect(await proxy.connect(`mcp.example.com:${(raw.address() as AddressInfo).port}`)).toBe(502);
    }
    expect([calls.length, connections]).toEqual([0, 0]);
  });

  test.each([
    "file:///etc/passwd",
    "ftp://example.com/",
    "/relative",
    "http://user:secret@example.com/",
    "http://example.com:22/",
  ])("the proxy rejects the URL %s", async (url) => {
    const proxy = await proxyWith({});
    expect((await proxy.plain(url)).status).toBe(403);
  });
});

test("Claude Code calls an MCP server of a request through the proxy, and its model without the proxy", async () => {
  const { port, calls } = await listener();
  async function statusWith(allowsAddress: (address: string) => boolean): Promise<unknown> {
    const proxy = await proxyWith({ ...anyPort, allowsAddress, lookup: meaning(["127.0.0.1"]) });
    const policy = createClaudePolicy({
      settings: ClaudeSettings.parse({}),
      records: createMemoryStore().records,
      defaultFolder: () => join(folder(), "work"),
      places: anyPort,
      proxy: async () => proxy.url,
      modelHost: "127.0.0.1",
    });
    const options = ClaudeOptions.parse({
      mcp_servers: { x: { type: "http", url: `http://mcp.example.com:${port}/mcp` } },
    });
    const { run, requests } = await createWorld({
      optionsOf: (_, prompt) => policy.resolve(options, { tenant: "a", sessionId: prompt.run_id }),
    });
    const { events } = await run(play({ text: "Hi." }));
    expect(only(events, "session.completed")).toHaveLength(1);
    expect(requests().length).toBeGreaterThan(0);
    return only(events, "runtime.started")[0]?.data.info["mcp_servers"];
  }
  // The address is not an MCP server. The test only checks whether it is called.
  await statusWith((address) => address === "127.0.0.1");
  expect(calls.length).toBeGreaterThan(0);
  expect(new Set(calls)).toEqual(new Set([`mcp.example.com:${port}`]));
  calls.length = 0;
  expect(await statusWith(() => false)).toMatchObject([{ name: "x", status: "failed" }]);
  expect(calls).toEqual([]);
});
