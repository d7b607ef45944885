/** Large texts in a bucket that becomes unavailable or read-only, and recovers. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSimulator, script } from "@skein/simulator";
import S3rver from "s3rver";
import { expect, onTestFinished, test } from "vitest";
import { caller, folder, say, session, settled } from "../../../server/test/world.ts";
import { openStore } from "../../src/open-store.ts";
import { codeOf } from "../../src/serve/config-file.ts";
import { startServer } from "../../src/serve/server.ts";

const KEY = "an-admin-key-of-our-own";
const SOON = { interval: 50 };
const LARGE = `Begin ${"large and larger ".repeat(20_000)}end.`;

/** A real S3 server behind a proxy that can reject every request, or only writes. */
async function bucket() {
  const directory = await mkdtemp(join(tmpdir(), "skein-s3-"));
  const server = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory,
    configureBuckets: [{ name: "agent-data", configs: [] }],
  });
  const { port } = await server.run();
  const door: { state: "open" | "read-only" | "closed" } = { state: "open" };
  const proxy = createServer((request, response) => {
    if (door.state === "closed") return void request.socket.destroy();
    if (door.state === "read-only" && request.method === "PUT") return void response.writeHead(403).end();
    const { method, url: path, headers } = request;
    const onward = ask({ port, host: "127.0.0.1", method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    proxy.close();
    proxy.closeAllConnections();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  });
  const stored = async (): Promise<number> =>
    (await readdir(directory, { recursive: true })).filter((name) => /text-[0-9a-f]{64}[^/]*object$/.test(name)).length;
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { door, stored, s3: { endpoint, accessKeyId: "S3RVER", secretAccessKey: "S3RVER" } };
}

test("/health reports a read-only bucket, no text is lost, and the bucket is used again later; texts in a closed bucket give an error", async () => {
  const { door, stored, s3 } = await bucket();
  const model = await createSimulator();
  const dataDir = folder();
  const server = await startServer({
    port: 0,
    host: "127.0.0.1",
    storeUrl: `sqlite:${join(dataDir, "skein.db")}`,
    filesUrl: "s3://agent-data/files",
    s3: { ...s3, region: undefined, sessionToken: undefined },
    dataDir,
    apiKey: KEY,
    allowedHosts: [],
    allowedOrigins: [],
    allowedWebhookAddresses: [],
    anthropicApiKey: "sk-ant-simulated",
    anthropicBaseUrl: model.url,
    claudeCode: false,
    code: codeOf({}),
  });
  onTestFinished(async () => {
    await server.close();
    await model.close();
  });
  const call = caller(server.url, KEY);
  const failing = async (): Promise<unknown> => (await call("GET", "/health")).body["failing"];
  const { path, id } = await session(call);
  const large = async (label: string): Promise<void> => {
    await say(call, path, `${label} ${LARGE} ${script([{ text: `Answer ${label}.` }], label)}`);
    await settled(call, path);
  };
  await large("one");
  expect(await stored()).toBe(1);
  expect(await failing()).toEqual([]);

  door.state = "read-only";
  await expect.poll(failing, SOON).toEqual(["files"]);
  await large("two");
  expect(await stored()).toBe(1);

  door.state = "open";
  await expect.poll(failing, SOON).toEqual([]);
  await large("three");
  expect(await stored()).toBe(2);
  const texts = JSON.stringify((await call("GET", `${path}/messages`)).body);
  for (const label of ["one", "two", "three"]) {
    expect(texts).toContain(`${label} ${LARGE}`);
    expect(texts).toContain(`Answer ${label}.`);
  }

  door.state = "closed";
  // A process that did not write the texts has to read them from the bucket.
  const other = await openStore(`sqlite:${join(dataDir, "skein.db")}`);
  onTestFinished(() => other.close());
  await expect(other.read(id)).rejects.toThrow("SKEIN_FILES");
  door.state = "open";
  await call("DELETE", path);
  expect(await stored()).toBe(0);
});
