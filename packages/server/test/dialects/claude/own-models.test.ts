/** The real Claude Code with models that have different addresses and keys. Three simulators play the models. */
import { type IncomingMessage, createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { type Simulator, createSimulator } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../../../sql/test/bubblewrap.ts";
import { say, scripted, session, settled } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only } from "./world.ts";

/** A model server that records the API key of each request. */
interface KeyedModel {
  readonly url: string;
  readonly simulator: Simulator;
  readonly keys: Set<string>;
  close(): Promise<void>;
}

async function keyedModel(): Promise<KeyedModel> {
  const simulator = await createSimulator();
  const keys = new Set<string>();
  const pass = (from: IncomingMessage, to: Parameters<Parameters<typeof createServer>[1] & object>[1]): void => {
    keys.add(String(from.headers["x-api-key"] ?? from.headers.authorization));
    const { method, headers, url = "/" } = from;
    const onward = ask(`${simulator.url}${url}`, { method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(to);
    });
    onward.on("error", () => to.destroy());
    from.pipe(onward);
  };
  const front = createServer(pass);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    simulator,
    keys,
    async close() {
      front.closeAllConnections();
      front.close();
      await simulator.close();
    },
  };
}

const KEYS = {
  server: "sk-ant-api03-of-the-server",
  home: "key-of-the-model-at-home",
  work: "key-of-the-model-at-work",
};
const WORK = "bedrock/anthropic.claude-opus-5-5";
const PRICE = { input: 3, output: 30, date: "2026-11-01" };

describe.each([
  ["in a sandbox", "required"],
  ["without a sandbox", "off"],
] as const)("Claude Code %s", (_place, sandbox) => {
  const keyHeader = sandbox === "off" ? "authorization" : "x-api-key";
  let server: ClaudeServer;
  let models: Record<"server" | "home" | "work", KeyedModel>;

  beforeAll(async () => {
    models = { server: await keyedModel(), home: await keyedModel(), work: await keyedModel() };
    server = await claudeServer({
      anthropicApiKey: KEYS.server,
      anthropicBaseUrl: models.server.url,
      policy: { sandbox },
    });
    const add = (name: string, body: object) => server.call("POST", "/v1/models", { name, ...body });
    const { url } = models.home;
    const added = [
      await add("home/qwen3", {
        settings: {
          adapter: "anthropic",
          model_name: "qwen3:8b",
          url,
          key_header: keyHeader,
          price: PRICE,
          abilities: { caching: false },
        },
        key: KEYS.home,
      }),
      await add(WORK, { settings: { region: "eu-west-1", url: models.work.url }, key: KEYS.work }),
      await add("openai-compatible/other", { settings: { url: `${url}/v1` } }),
    ];
    expect(added.map(({ status }) => status)).toEqual([201, 201, 201]);
  }, 60_000);
  afterAll(async () => {
    await server?.close();
    for (const model of Object.values(models)) await model.close();
  });

  const look = { name: "Bash", input: { command: "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'" } };
  const requests = (of: keyof typeof models, label: string) => models[of].simulator.ledger.calls({ label });

  test.skipIf(sandbox === "required" && !hasBubblewrap)(
    "each model is called at its own address with its own key, and no key is visible to the programs of the session",
    async () => {
      const body = (label: string, model: string) => ({
        prompt: scripted(label, [{ tools: [look] }, { text: `Done by ${label}.` }]),
        model,
        allowed_tools: ["Bash"],
      });
      const { body: first } = await server.call("POST", "/api/v1/query/single", body("first", "home/qwen3"));
      expect(first).toMatchObject({ result: "Done by first.", model: "home/qwen3" });
      const path = `/api/v1/sessions/${String(first["session_id"])}/resume`;
      for (const [label, model] of [
        ["second", WORK],
        ["third", "claude-opus-5-5"],
      ] as const)
        expect(only(await all(server, path, body(label, model)), "result").data).toMatchObject({
          result: `Done by ${label}.`,
        });

      // Claude Code also makes its small calls with the session's model, so each address gets calls of one model only.
      const asked = (of: keyof typeof models) => [
        ...new Set(models[of].simulator.ledger.calls().map(({ model }) => model)),
      ];
      expect(asked("home")).toEqual(["qwen3:8b"]);
      expect(asked("work")).toEqual(["anthropic.claude-opus-5-5"]);
      expect(requests("server", "first").length + requests("server", "second").length).toBe(0);
      expect(requests("server", "third").length).toBeGreaterThan(1);
      for (const which of ["server", "home", "work"] as const)
        expect([...models[which].keys]).toEqual([
          which === "work" || (which === "home" && keyHeader === "authorization")
            ? `Bearer ${KEYS[which]}`
            : KEYS[which],
        ]);
      const seen = [...requests("home", "first"), ...requests("work", "second")].map(({ request }) =>
        JSON.stringify(request),
      );
      expect(seen.join("")).toContain("ANTHROPIC_UNIX_SOCKET");
      for (const key of Object.values(KEYS)) expect(seen.join("")).not.toContain(key);

      // The model's settings say that it has no cache, so Claude Code sets no cache marks.
      expect(JSON.stringify(requests("home", "first").map(({ request }) => request))).not.toContain("cache_control");

      // Usage and price are counted under the name by which the model was added.
      const { body: usage } = await server.call("GET", "/v1/usage?group_by=model");
      const usageOf = (model: string) => usage.data.find((row) => row["key"] === model);
      const counted = models.home.simulator.ledger
        .calls({ kind: "messages" })
        .reduce(
          (sum, { usage: told }) =>
            sum +
            3 * (told?.input_tokens ?? 0) +
            30 * (told?.output_tokens ?? 0) +
            3 * ((told?.cache_creation_input_tokens ?? 0) + (told?.cache_read_input_tokens ?? 0)),
          0,
        );
      expect(usageOf("home/qwen3")).toMatchObject({ cost_picos: String(counted * 1_000_000), unpriced_calls: 0 });
      expect(first["total_cost_usd"]).toBeCloseTo(counted / 1e6, 9);
      expect(usageOf(WORK)).toMatchObject({ unpriced_calls: 0, cost_picos: expect.stringMatching(/^[1-9]/) });
    },
    120_000,
  );

  test("a model without the Messages API is refused with the reason before anything runs", async () => {
    const model = "openai-compatible/other";
    const sentence = `Claude Code cannot use the model "${model}", whose adapter is openai-compatible`;
    const refused = await server.call("POST", "/api/v1/query/single", { prompt: "Hello", model });
    expect(refused).toMatchObject({ status: 422, body: { error: { message: expect.stringContaining(sentence) } } });
    const { path } = await session(server.call, { model, runtime: "claude-code" });
    await say(server.call, path, "Hello");
    expect(await settled(server.call, path)).toMatchObject({ status: "failed" });
    const { body } = await server.call("GET", `${path}/events?limit=100`);
    expect(body.data.map(({ event_type }) => event_type)).not.toContain("runtime.started");
    expect(JSON.stringify(body.data.at(-1))).toContain(JSON.stringify(sentence).slice(1, -1));
  });
});
