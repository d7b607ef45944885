import type { lookup } from "node:dns";
import { type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createStandardTools, isPublicAddress } from "@skein/adapters/tools";
import { expect, onTestFinished, test } from "vitest";

type Web = NonNullable<Parameters<typeof createStandardTools>[0]["web"]>;

async function fetchWith(web: Web, input: object): Promise<string> {
  const tool = createStandardTools({ folder: ".", web }).find(({ name }) => name === "WebFetch");
  const signal = new AbortController().signal;
  const context = { sessionId: "s", runId: "r", toolUseId: "t", idempotencyKey: "k", workingDirectory: null, signal };
  return String(await tool?.run(tool.parse(input), context));
}

/** A server on this machine that counts how often it was reached. */
async function server(answer: RequestListener): Promise<{ port: number; hits: () => number }> {
  let hits = 0;
  const listening = createServer((request, response) => {
    hits += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  return { port: (listening.address() as AddressInfo).port, hits: () => hits };
}

/** Allows the server of the test on this machine. All other addresses stay forbidden. */
const here: Web = { allowsAddress: (address) => address === "127.0.0.1", allowsPort: () => true };

// The test in foreign-addresses/ tries addresses of other machines, in a separate network namespace.
test.each([
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "[::]",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::127.0.0.1]",
  "localhost",
  "localhost.",
  "x.localhost",
])("WebFetch never connects to %s", async (host) => {
  const { port, hits } = await server((_, response) => response.end("inside"));
  await expect(fetchWith({ allowsPort: () => true }, { url: `http://${host}:${port}/` })).rejects.toThrow();
  expect(hits()).toBe(0);
});

test.each([
  ["file:///etc/passwd", /Only http and https/],
  ["gopher://example.com/", /Only http and https/],
  ["data:text/plain,x", /Only http and https/],
  ["http://user:pass@example.com/", /user name/],
  ["http://example.com@127.0.0.1/", /user name/],
  ["http://example.com:22/", /Port 22/],
  ["http://example.com:6379/", /Port 6379/],
  ["not a url", /not a URL/],
  ["http://hooks.example.com\0.evil/", /not a URL/],
])("WebFetch rejects %j", async (url, why) => {
  await expect(fetchWith({}, { url })).rejects.toThrow(why);
});

test("if a name later resolves to another address, the connection goes to the checked address, 100 of 100 times", async () => {
  const { port, hits } = await server((_, response) => response.end("inside"));
  let asked = 0;
  // The lookups alternate between an allowed address at which nothing listens, and the address of the server.
  const flip = ((_name: string, _options: object, callback: (error: null, found: object[]) => void) => {
    asked += 1;
    callback(null, [{ address: asked % 2 === 1 ? "127.0.0.2" : "127.0.0.1", family: 4 }]);
  }) as unknown as typeof lookup;
  for (let n = 0; n < 100; n++) {
    const web: Web = { lookup: flip, allowsPort: () => true, allowsAddress: (address) => address === "127.0.0.2" };
    await expect(fetchWith(web, { url: `http://flip.example:${port}/` })).rejects.toThrow();
  }
  expect(hits()).toBe(0);
  expect(asked).toBe(100);
});

test("a name with an allowed and a forbidden address is rejected", async () => {
  const both = ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(null, [
      { address: "127.0.0.2", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ])) as unknown as typeof lookup;
  const web: Web = { lookup: both, allowsAddress: (address) => address === "127.0.0.2" };
  await expect(fetchWith(web, { url: "http://both.example/" })).rejects.toThrow(/not an address of the public/);
});

test("every redirect is checked, and at most five redirects are followed", async () => {
  const { port, hits } = await server((request, response) => {
    const [, to = ""] = /to=(.*)/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    if (to === "") response.end("arrived");
    else response.writeHead(302, { location: to }).end();
  });
  const at = (to: string) => `http://127.0.0.1:${port}/?to=${encodeURIComponent(to)}`;
  expect(await fetchWith(here, { url: at(`http://127.0.0.1:${port}/`) })).toBe("arrived");
  await expect(fetchWith(here, { url: at("http://127.0.0.3/") })).rejects.toThrow(/not an address/);
  await expect(fetchWith(here, { url: at("file:///etc/passwd") })).rejects.toThrow(/Only http/);
  const before = hits();
  const loop = await server((_, response) => response.writeHead(302, { location: "/again" }).end());
  await expect(fetchWith(here, { url: `http://127.0.0.1:${loop.port}/` })).rejects.toThrow(/more than 5 times/);
  expect(loop.hits()).toBe(6);
  expect(hits()).toBe(before);
});

test("a page is returned as text, or with `raw` unchanged, or with `max_length` cut", async () => {
  const html = `<html><head><style>x{}</style><script>alert("no")</script></head><body><h1>Title &amp; more</h1>
    <!-- not this --><p>One<br>Two &#x263A; &lt;tag&gt;</p></body></html>`;
  const { port } = await server((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(html));
  const url = `http://127.0.0.1:${port}/`;
  expect(await fetchWith(here, { url })).toBe("Title & more\n\nOne\nTwo ☺ <tag>");
  expect(await fetchWith(here, { url, raw: true })).toContain("<script>");
  expect(await fetchWith(here, { url, max_length: 5 })).toBe("Title\n[The page is longer; this is its beginning.]");
});

test("a response that is too long is cut; a response that takes too long, a compressed response and an error status are rejected", async () => {
  const giant = await server((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const pump = (): void => {
      while (response.writable && response.write("x".repeat(65_536)));
    };
    response.on("drain", pump);
    pump();
  });
  const text = await fetchWith(here, { url: `http://127.0.0.1:${giant.port}/`, max_length: 100_000 });
  expect(text.length).toBeLessThan(100_100);
  const endless = await server((_, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write("x"), 10);
    response.on("close", () => clearInterval(drip));
  });
  const drip = fetchWith({ ...here, timeoutMs: 200 }, { url: `http://127.0.0.1:${endless.port}/` });
  await expect(drip).rejects.toThrow();
  const bomb = await server((_, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(1e6))),
  );
  await expect(fetchWith(here, { url: `http://127.0.0.1:${bomb.port}/` })).rejects.toThrow(/compressed/);
  const missing = await server((_, response) => response.writeHead(404).end("no"));
  await expect(fetchWith(here, { url: `http://127.0.0.1:${missing.port}/` })).rejects.toThrow(/status 404/);
});

test("a megabyte of hostile markup is read within 1.5 seconds", async () => {
  const bodies = [
    "<".repeat(1e6),
    "<!--".repeat(250_000),
    "<script".repeat(140_000),
    "&".repeat(1e6),
    "\n ".repeat(5e5),
  ];
  for (const body of bodies) {
    const { port } = await server((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(body));
    const started = performance.now();
    await fetchWith(here, { url: `http://127.0.0.1:${port}/` });
    expect(performance.now() - started).toBeLessThan(1500);
  }
});

test("public addresses are recognised as public", () => {
  for (const address of ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::1"])
    expect(isPublicAddress(address), address).toBe(true);
});
