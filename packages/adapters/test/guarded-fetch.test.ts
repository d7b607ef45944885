import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createGuardedFetch } from "../src/tools/index.ts";

async function listening(): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, asked };
}

/** A DNS lookup that gives these addresses for every name. */
function meaning(...addresses: readonly string[]): never {
  return resolving(() => addresses);
}

/** A DNS lookup that calls `addresses` each time, for every name. */
function resolving(addresses: () => readonly string[]): never {
  return ((_: string, __: unknown, done: (error: null, found: object[]) => void) =>
    done(
      null,
      addresses().map((address) => ({ address, family: 4 })),
    )) as never;
}

test("no connection is made to a name that resolves to this machine", async () => {
  const { port, asked } = await listening();
  const guarded = createGuardedFetch({ allowsPort: () => true, lookup: meaning("127.0.0.1") });
  await expect(guarded(`http://models.example.com:${port}/`)).rejects.toMatchObject({
    cause: { message: expect.stringContaining("not an address of the public internet") },
  });
  await expect(guarded(`http://127.0.0.1:${port}/`)).rejects.toThrow("are not allowed");
  expect(asked).toEqual([]);
});

test("a name is resolved once, and the connection goes to the address that was checked", async () => {
  const { port, asked } = await listening();
  const checked: string[] = [];
  let lookups = 0;
  const guarded = createGuardedFetch({
    allowsAddress: (address) => checked.push(address) > 0,
    allowsPort: () => true,
    // A second lookup would give another address.
    lookup: resolving(() => ((lookups += 1) === 1 ? ["127.0.0.1"] : ["127.0.0.2"])),
  });
  const answer = await guarded(`http://models.example.com:${port}/v1`, { method: "POST", body: "spoken" });
  expect(await answer.text()).toBe("spoken");
  expect(asked).toEqual(["POST /v1"]);
  expect([lookups, checked]).toEqual([1, ["127.0.0.1"]]);
});

test("a body that is streamed in pieces is sent with its length", async () => {
  const { port } = await listening();
  const guarded = createGuardedFetch({ allowsAddress: () => true, allowsPort: () => true });
  const body = ReadableStream.from([Buffer.from("spo"), Buffer.from("ken")]);
  const headers = { "content-length": "6" };
  const answer = await guarded(`http://127.0.0.1:${port}/v1`, { method: "POST", headers, body });
  expect(await answer.text()).toBe("spoken");
});

test("the signal ends a request in progress", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const arrived = once(server, "request");
  const guarded = createGuardedFetch({ allowsAddress: () => true, allowsPort: () => true });
  const stop = new AbortController();
  const answer = guarded(`http://127.0.0.1:${port}/`, { signal: stop.signal });
  const [incoming] = (await arrived) as [IncomingMessage];
  const closed = once(incoming.socket, "close");
  stop.abort();
  await expect(answer).rejects.toThrow(/abort/i);
  await closed;
});

test("a request whose signal is already aborted is rejected", async () => {
  const { port } = await listening();
  const guarded = createGuardedFetch({ allowsAddress: () => true, allowsPort: () => true });
  await expect(guarded(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
});
