import { createMemoryStore } from "@skein/core";
import { type EngineUnderTest, describeEngine } from "@skein/core/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { startBalancer } from "../../../scripts/balancer.ts";
import { type Restate, noRestate, startRestate } from "../../../scripts/restate.ts";
import { createLocalEngine } from "../src/engines/local.ts";
import {
  createIngress,
  createRestateEngine,
  listenForRestate,
  registerDeployment,
} from "../src/engines/restate/index.ts";

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

  /** A service of its own on the shared server, with a load balancer before its workers. */
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
});
