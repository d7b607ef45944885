import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Served, startServed } from "../fuzz/start-server.ts";
import { idle, idleConnections, live } from "../wire/checks.ts";
import { isInstalled, startProxy } from "../wire/proxy.ts";

let folder: string;
let served: Served;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "skein-wire-"));
  served = await startServed({ storeUrl: `sqlite:${join(folder, "skein.db")}`, dataDir: join(folder, "data") });
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true, force: true });
});

test("events reach Node's fetch at once, a stream without events stays open, and idle connections do not block others", async () => {
  const way = { name: "fetch", url: served.url };
  expect(await live(served, way.name, way.url)).toMatchObject({ passed: true });
  expect(await idle(served, [way], 0.01)).toMatchObject([{ passed: true }]);
  expect(await idleConnections(served, 100)).toMatchObject({ passed: true });
});

for (const name of ["nginx", "haproxy"] as const)
  test.skipIf(!isInstalled(name))(`events pass the proxy ${name} at once`, async () => {
    const proxy = await startProxy(name, served.url, folder);
    try {
      expect(await live(served, name, proxy.url)).toMatchObject({ passed: true });
    } finally {
      await proxy.close();
    }
  });
