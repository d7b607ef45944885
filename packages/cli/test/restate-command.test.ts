/** `skein restate`: an upgrade of the workers by an operator, on a real Restate server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRestateEngine, createIngress, listenForRestate } from "@skein/adapters/engines/restate";
import { newIdentity } from "@skein/adapters/engines/restate/identity";
import { createMemoryStore } from "@skein/core";
import { createCountingRuntime, createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Restate, noRestate, startRestate } from "../../../scripts/restate.ts";
import { folder } from "../../server/test/world.ts";
import { type Ended, call, environmentOf } from "./skein.ts";

describe.skipIf(noRestate)("on a real Restate server", () => {
  let restate: Restate;
  beforeAll(async () => {
    restate = await startRestate();
  });
  afterAll(() => restate.stop());

  function skein(...args: readonly string[]): Promise<Ended> {
    const data = folder();
    const env = { ...environmentOf(data), SKEIN_RESTATE_ADMIN_URL: restate.nodes[0]?.adminUrl };
    return call(["restate", ...args], { env, cwd: data });
  }

  test("old workers keep the sessions that they have begun, and are drained when these sessions have ended", async () => {
    const store = createMemoryStore();
    const ids = createIds();
    /** Starts workers of a new version at a new address. */
    async function version(work: () => Promise<void>) {
      const service = "skein-session";
      const { identityKey, nodes } = restate;
      const endpoint = await listenForRestate({ host: "127.0.0.1", port: 0, service, identityKeys: [identityKey] });
      const runtime = createCountingRuntime({ store, ids, work });
      const ingress = createIngress({ urls: [nodes[0]?.ingressUrl ?? ""], service });
      const engine = createRestateEngine({ store, runtime, owner: `worker/${endpoint.port}`, ingress, endpoint });
      engine.start();
      onTestFinished(async () => {
        await engine.stop();
        await endpoint.close();
      });
      return { address: `http://127.0.0.1:${endpoint.port}`, driving: runtime.driving };
    }

    // A Restate server that has just started does not know its deployments yet.
    await expect.poll(async () => (await skein("status")).code).toBe(0);
    expect((await skein("status")).err).toContain("skein restate register");
    const held = Promise.withResolvers<void>();
    const old = await version(() => held.promise);
    expect(await skein("register", "--workers", old.address)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`Restate sends sessions to ${old.address}`),
    });
    expect(await skein("drain")).toMatchObject({ code: 0, err: "There are no old versions of the workers.\n" });
    const script = createScript({ store, ids });
    await script.create();
    await script.prompt("hi");
    await expect.poll(() => old.driving()).toBe(1);

    const next = await version(async () => {});
    await skein("register", "--workers", next.address);
    const { out } = await skein("status");
    const [first, second, ...others] = out.trimEnd().split("\n");
    expect(first).toMatch(new RegExp(`${old.address}/  1 session$`));
    expect(second).toMatch(new RegExp(`${next.address}/  0 sessions  current$`));
    expect(others).toEqual([]);
    expect(await skein("drain")).toMatchObject({ code: 1, err: expect.stringContaining("still has 1 session") });
    expect((await skein("status")).out).toContain(`${old.address}/  1 session`);

    held.resolve();
    await expect.poll(async () => (await skein("drain")).code).toBe(0);
    const left = (await skein("status", "--json")).out;
    expect(JSON.parse(left)).toMatchObject({ workers: `${next.address}/`, open: 0, current: true });
  });

  test("skein restate identity makes a private key once, and prints its public key", async () => {
    const made = await skein("identity", "identity.pem");
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^publickeyv1_\w{40,50}\n$/) });
    expect(made.err).toContain("Made identity.pem");
    const file = join(folder(), "own.pem");
    writeFileSync(file, newIdentity());
    const again = await skein("identity", file);
    expect(again).toMatchObject({ code: 0, err: "", out: (await skein("identity", file)).out });
    writeFileSync(file, "nonsense");
    expect(await skein("identity", file)).toMatchObject({ code: 2, err: expect.stringContaining("ed25519") });
  });

  test("the error for workers that Restate cannot reach has their address and says what to check", async () => {
    const { code, err } = await skein("register", "--workers", "http://127.0.0.1:9");
    expect(code).toBe(2);
    expect(err).toContain("Restate cannot read the workers at http://127.0.0.1:9");
    expect(err).toContain("SKEIN_RESTATE_WORKERS_URL");
  });
});
