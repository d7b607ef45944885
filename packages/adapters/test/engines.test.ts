import { type Claimed, type Store, createMemoryStore } from "@skein/core";
import {
  type CountingRuntime,
  type EngineUnderTest,
  createCountingRuntime,
  createScript,
  describeEngine,
} from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Balancer, startBalancer } from "../../../scripts/balancer.ts";
import { type Restate, noRestate, startRestate } from "../../../scripts/restate.ts";
import { createLocalEngine } from "../src/engines/local.ts";
import { listDeployments, registerDeployment, removeDeployment } from "../src/engines/restate/deployments.ts";
import { createIngress, createRestateEngine, listenForRestate } from "../src/engines/restate/index.ts";

describeEngine("local", async () => ({
  store: createMemoryStore(),
  engine: async (parts) => createLocalEngine(parts),
  close: async () => {},
}));

describe.skipIf(noRestate)("on a real Restate server", () => {
  let restate: Restate;
  let services = 0;
  beforeAll(async () => {
    restate = await startRestate();
  });
  afterAll(() => restate.stop());

  /** Opens a separate service on the shared Restate server, with a load balancer in front of its workers. */
  async function openRestate(): Promise<EngineUnderTest> {
    const service = `contract-${(services += 1)}`;
    const [{ ingressUrl, adminUrl } = { ingressUrl: "", adminUrl: "" }] = restate.nodes;
    const balancer = await startBalancer();
    const endpoints: { close(): Promise<void> }[] = [];
    const ingress = createIngress({ urls: [ingressUrl], service });
    return {
      store: createMemoryStore(),
      async engine(parts) {
        const { identityKey } = restate;
        const endpoint = await listenForRestate({ host: "127.0.0.1", port: 0, service, identityKeys: [identityKey] });
        balancer.add(endpoint.port);
        endpoints.push(endpoint);
        if (endpoints.length === 1) await registerDeployment({ url: adminUrl }, `http://127.0.0.1:${balancer.port}`);
        const engine = createRestateEngine({ ...parts, ingress, endpoint, sliceMs: 1000 });
        return {
          ...engine,
          async stop() {
            balancer.remove(endpoint.port);
            await engine.stop();
            await endpoint.close();
          },
        };
      },
      async close() {
        await balancer.close();
      },
    };
  }

  describeEngine("restate", openRestate);

  const SOON = { interval: 10 };
  const ids = createIds();
  const nobodyListens = "http://127.0.0.1:9";

  async function worker(options: {
    readonly service: string;
    readonly store: Store;
    readonly balancer: Balancer;
    readonly work?: () => Promise<void>;
    readonly ingressUrls?: readonly string[];
    readonly now?: () => number;
    readonly nextAt?: () => number | null;
    readonly beginning?: (claimed: Claimed) => void;
  }): Promise<
    CountingRuntime & { readonly port: number; readonly look: () => void; readonly stop: () => Promise<void> }
  > {
    const {
      service,
      store,
      balancer,
      work,
      nextAt,
      beginning,
      now,
      ingressUrls = [restate.nodes[0]?.ingressUrl ?? ""],
    } = options;
    const endpoint = await listenForRestate({
      host: "127.0.0.1",
      port: 0,
      service,
      identityKeys: [restate.identityKey],
    });
    balancer.add(endpoint.port);
    const runtime = createCountingRuntime({ store, ids, ...(work && { work }), ...(nextAt && { nextAt }) });
    const engine = createRestateEngine({
      store,
      runtime: {
        drive(claimed, signal) {
          beginning?.(claimed);
          return runtime.drive(claimed, signal);
        },
      },
      owner: `worker/${endpoint.port}`,
      ingress: createIngress({ urls: ingressUrls, service }),
      endpoint,
      ...(now && { now }),
    });
    engine.start();
    onTestFinished(async () => {
      await engine.stop();
      await endpoint.close();
    });
    return { ...runtime, port: endpoint.port, look: engine.look, stop: () => engine.stop() };
  }

  async function cluster() {
    const service = `case-${(services += 1)}`;
    const [balancer, store] = [await startBalancer(), createMemoryStore()];
    onTestFinished(() => balancer.close());
    const admin = { url: restate.nodes[0]?.adminUrl ?? "" };
    const register = (at = balancer): Promise<string> => registerDeployment(admin, `http://127.0.0.1:${at.port}`);
    const prompted = async () => {
      const script = createScript({ store, ids });
      await script.create();
      await script.prompt("hi");
      return script;
    };
    const answers = async ({ sessionId }: { readonly sessionId: string }): Promise<number> =>
      (await store.read(sessionId)).filter(({ event_type }) => event_type === "title.generated").length;
    return { service, balancer, store, admin, register, prompted, answers };
  }

  test("a worker runs no session for a caller without the cluster's signature", async () => {
    const { service, balancer, store, register, prompted } = await cluster();
    const { port, begun } = await worker({ service, store, balancer });
    await register();
    const { sessionId } = await prompted();
    await expect.poll(() => begun.length, SOON).toBe(1);
    const { connect: connectHttp2 } = await import("node:http2");
    const client = connectHttp2(`http://127.0.0.1:${port}`);
    onTestFinished(() => client.destroy());
    const request = client.request({
      ":method": "POST",
      ":path": `/invoke/${service}/drive`,
      "content-type": "application/vnd.restate.invocation.v5",
    });
    request.end();
    const status = await new Promise((resolve) => request.on("response", (headers) => resolve(headers[":status"])));
    expect(status).toBe(401);
    expect(begun).toEqual([sessionId]);
  });

  test("if Restate's connection to the worker of a session is cut, another worker takes the lease and runs the session", async () => {
    const { service, balancer, store, register, prompted, answers } = await cluster();
    const held = Promise.withResolvers<void>();
    const first = await worker({ service, store, balancer, work: () => held.promise });
    await register();
    const script = await prompted();
    await expect.poll(() => first.driving(), SOON).toBe(1);
    const second = await worker({ service, store, balancer });
    balancer.remove(first.port);
    const cutAt = Date.now();
    balancer.cut();
    await expect.poll(() => answers(script), SOON).toBe(1);
    expect(second.begun).toEqual([script.sessionId]);
    expect(Date.now() - cutAt).toBeLessThan(3500);
    // The first worker returns too late, so its answer is rejected.
    held.resolve();
    await expect.poll(() => first.driving(), SOON).toBe(0);
    expect(await answers(script)).toBe(1);
  });

  test("if Restate's connection to a session's worker is cut, the worker continues the session, and Restate's next attempt does not start it again", async () => {
    const { service, balancer, store, admin, register, prompted, answers } = await cluster();
    const held = Promise.withResolvers<void>();
    const { begun, driving } = await worker({ service, store, balancer, work: () => held.promise });
    await register();
    const script = await prompted();
    await expect.poll(driving, SOON).toBe(1);
    balancer.cut();
    const query = `select retry_count from sys_invocation where target_service_key = '${script.sessionId}'`;
    const attempts = async (): Promise<string> => {
      const headers = { accept: "application/json", "content-type": "application/json" };
      return (await fetch(`${admin.url}/query`, { method: "POST", headers, body: JSON.stringify({ query }) })).text();
    };
    await expect.poll(attempts, SOON).toMatch(/"retry_count":[1-9]/);
    held.resolve();
    await expect.poll(() => answers(script), SOON).toBe(1);
    await expect.poll(driving, SOON).toBe(0);
    expect(begun).toEqual([script.sessionId]);
  });

  test("a session that began on an old version of the workers ends its step on the old version, and continues on the new version", async () => {
    const { service, balancer: old, store, admin, register, prompted, answers } = await cluster();
    const held = Promise.withResolvers<void>();
    let stoppedAt: number | undefined;
    const now = (): number => stoppedAt ?? Date.now();
    const before = await worker({ service, store, balancer: old, work: () => held.promise, now });
    await register();
    const script = await prompted();
    await expect.poll(() => before.driving(), SOON).toBe(1);
    // The clock of the old worker stops, so no later session is overdue for it: only Restate gives it sessions.
    stoppedAt = Date.now();
    const next = await startBalancer();
    onTestFinished(() => next.close());
    const after = await worker({ service, store, balancer: next });
    await register(next);
    const fresh = await prompted();
    await expect.poll(() => answers(fresh), SOON).toBe(1);
    expect(after.begun).toEqual([fresh.sessionId]);
    const open = async () => (await listDeployments(admin, service)).map((deployment) => deployment.open);
    await expect.poll(open, SOON).toEqual([1, 0]);
    held.resolve();
    await expect.poll(() => answers(script), SOON).toBe(1);
    await expect.poll(open, SOON).toEqual([0, 0]);
    const [oldest] = await listDeployments(admin, service);
    await removeDeployment(admin, oldest?.id ?? "");
    await script.prompt("and now");
    await expect.poll(() => answers(script), SOON).toBe(2);
    expect(after.begun).toContain(script.sessionId);
  });

  test("if all workers of an old version are gone, their sessions continue immediately on the new version", async () => {
    const { service, balancer: old, store, register, prompted, answers } = await cluster();
    const held = Promise.withResolvers<void>();
    const before = await worker({ service, store, balancer: old, work: () => held.promise });
    await register();
    const script = await prompted();
    await expect.poll(() => before.driving(), SOON).toBe(1);
    const next = await startBalancer();
    onTestFinished(() => next.close());
    const after = await worker({ service, store, balancer: next });
    await register(next);
    old.remove(before.port);
    const cutAt = Date.now();
    old.cut();
    await expect.poll(() => answers(script), SOON).toBe(1);
    expect(Date.now() - cutAt).toBeLessThan(5000);
    expect(after.begun).toEqual([script.sessionId]);
    held.resolve();
  });

  test("a session that Restate cannot give to a worker is begun exactly once, even if Restate's attempt comes late", async () => {
    const { service, balancer, store, register, prompted, answers } = await cluster();
    const held = Promise.withResolvers<void>();
    const { port, begun, driving } = await worker({ service, store, balancer, work: () => held.promise });
    await register();
    balancer.remove(port);
    balancer.cut();
    const script = await prompted();
    await expect.poll(driving, SOON).toBe(1);
    // Restate has been retrying, and now reaches the worker.
    balancer.add(port);
    const late = await prompted();
    await expect.poll(() => begun.includes(late.sessionId), SOON).toBe(true);
    held.resolve();
    await expect.poll(() => answers(script), SOON).toBe(1);
    await expect.poll(() => answers(late), SOON).toBe(1);
    expect(begun.filter((id) => id === script.sessionId)).toHaveLength(1);
  });

  test("a session of a dead worker continues as soon as its lease is freed, without waiting for Restate", async () => {
    const { service, balancer, store, prompted, answers } = await cluster();
    const script = await prompted();
    const { sessionId } = script;
    // The clock stands still shortly after the session became due, so the session is never overdue.
    const started = Date.now() + 1000;
    const first = await store.claim({ owner: "dead", leaseMs: 60_000, sessionId });
    if (first.kind !== "leased") throw new Error("The session was not claimed.");
    await store.release(first.lease, { seen: first.lastSequence, dueAt: started - 1000 });
    await store.claim({ owner: "dead", leaseMs: 60_000, sessionId });
    const { look } = await worker({ service, store, balancer, ingressUrls: [nobodyListens], now: () => started });
    await store.free("dead");
    look();
    await expect.poll(() => answers(script), SOON).toBe(1);
  });

  test("while the store is slow, a session is claimed only once, even if several sweeps find it", async () => {
    const { service, balancer, store: quick, prompted, answers } = await cluster();
    const script = await prompted();
    const answered = Promise.withResolvers<void>();
    let claims = 0;
    let sweeps = 0;
    const store: Store = {
      ...quick,
      async claim(asked) {
        claims += 1;
        await answered.promise;
        return quick.claim(asked);
      },
      due(asked) {
        if (asked.sessionId === undefined) sweeps += 1;
        return quick.due(asked);
      },
    };
    const { look } = await worker({ service, store, balancer, ingressUrls: [nobodyListens] });
    await expect
      .poll(() => {
        look();
        return sweeps;
      }, SOON)
      .toBeGreaterThan(5);
    answered.resolve();
    await expect.poll(() => answers(script), SOON).toBe(1);
    expect(claims).toBe(1);
  });

  test("a process without an endpoint for Restate's calls runs no session", async () => {
    const { service, store, prompted } = await cluster();
    const runtime = createCountingRuntime({ store, ids });
    const ingress = createIngress({ urls: [nobodyListens], service });
    const engine = createRestateEngine({ store, runtime, owner: "api", ingress });
    engine.start();
    onTestFinished(() => engine.stop());
    const { sessionId } = await prompted();
    engine.look();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await store.owners()).toEqual([]);
    expect(await store.due({ sessionId, before: Infinity })).toHaveLength(1);
    expect(runtime.begun).toEqual([]);
  });

  test("the error for an unreachable Restate cluster contains its address and says what to check", async () => {
    const away = createIngress({ urls: [nobodyListens], service: "none" });
    await expect(away.check()).rejects.toThrow(/No ingress of Restate answers at .*:9: .*Check SKEIN_RESTATE_URL/);
  });

  test("every prompt of a session is a separate wake-up for Restate, even if the first ingress is unavailable", async () => {
    const { service, balancer, store, register, answers } = await cluster();
    const [{ ingressUrl } = { ingressUrl: "" }] = restate.nodes;
    // The clock stands still, so no session is ever overdue. Only calls of Restate start work on a session.
    const now = Date.now();
    await worker({ service, store, balancer, ingressUrls: [nobodyListens, ingressUrl], now: () => now });
    await register();
    const script = createScript({ store, ids });
    await script.create();
    for (const n of [1, 2, 3]) {
      await script.prompt("hi", now);
      await expect.poll(() => answers(script), SOON).toBe(n);
    }
  });

  test("a worker gives a session back after a time slice of 30 s, and Restate starts it again", async () => {
    const { service, balancer, store, register } = await cluster();
    let now = Date.now();
    const began = now;
    const ends: number[] = [];
    await worker({
      service,
      store,
      balancer,
      now: () => now,
      // The session is due again immediately. The work takes 20 s each time.
      nextAt: () => (ends.length < 4 ? (now += 20_000) : null),
      beginning: ({ yieldAt = Infinity }) => void ends.push((yieldAt - began) / 1000),
    });
    await register();
    const script = createScript({ store, ids });
    await script.create();
    await script.prompt("hi", now);
    await expect.poll(() => ends, SOON).toEqual([30, 30, 70, 70]);
  });

  test("the sweep (a regular search of the store) finds a session that was not announced to Restate", async () => {
    const { service, balancer, store } = await cluster();
    await worker({ service, store, balancer, ingressUrls: [nobodyListens] });
    // These appends are not announced to Restate.
    const silent = createScript({ store: { ...store, append: store.append }, ids });
    await silent.create();
    await silent.append([{ event_type: "session.edited", data: { title: "t" } }], { dueAt: 0 });
    await expect
      .poll(async () => (await store.due({ sessionId: silent.sessionId, before: Infinity })).length, SOON)
      .toBe(0);
  });
});
