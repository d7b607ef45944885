import { createSimulator } from "@skein/simulator";
import { createAgent } from "skein";
import { expect, onTestFinished, test, vi } from "vitest";
import { readConfig, simulationChoice } from "../src/config.ts";
import { openModel } from "../src/open-model.ts";
import { serveSettings } from "../src/serve/settings.ts";

const NO_MODEL = { anthropicApiKey: undefined, anthropicAuthToken: undefined, anthropicBaseUrl: undefined };

test("answers of the built-in simulation are marked and cost nothing, and usage totals count their calls separately; a note about the simulation is printed at most once", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", "");
  vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "");
  vi.stubEnv("ANTHROPIC_BASE_URL", "");
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const agent = createAgent({ store: "memory:", max_cost_micros: 1_000_000 });
  const other = createAgent({ store: "memory:" });
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    said.mockRestore();
    await agent.close();
    await other.close();
  });
  const result = await agent.run("How much is 2+2?");
  await other.run("Hello.");
  expect(result).toMatchObject({ error: null, simulated: true, cost: { total_cost: 0 } });
  expect(result.usage.output_tokens).toBeGreaterThan(0);
  const sessions = await agent.sessions();
  expect(await sessions.usage({ by: "day" })).toMatchObject([
    { cost_picos: "0", unpriced_calls: 0, simulated_calls: 1 },
  ]);
  const [answer] = (await sessions.events(result.sessionId)).filter(
    ({ event_type }) => event_type === "step.generated",
  );
  expect(answer?.data).toMatchObject({ simulated: true, cost: { total_micros: 0 } });
  // Another test of this process may have printed the sentence already.
  expect(said.mock.calls.filter(([text]) => String(text).includes("answers are simulated")).length).toBeLessThan(2);
});

test("each model that is opened on a shared simulator is marked as simulated, and does not get the real API key", async () => {
  const simulator = await createSimulator();
  const config = readConfig({
    SKEIN_MODEL: "simulation",
    SKEIN_SIMULATOR_URL: simulator.url,
    // A real key is set, but the simulator does not use it.
    ANTHROPIC_API_KEY: "sk-real",
    SKEIN_API_KEY: "k".repeat(20),
  });
  const settings = serveSettings({ host: "0.0.0.0" }, config);
  const opened = [await openModel(settings), await openModel(settings)];
  onTestFinished(async () => {
    for (const { close } of opened) await close();
    await simulator.close();
  });
  for (const { simulated, model, api } of opened)
    expect([simulated, model.simulated, api.baseUrl, api.apiKey]).toEqual([true, true, simulator.url, "simulated"]);
});

test("in production or on a public server, a missing API key of the model is an error unless the operator requested a simulation", async () => {
  const production = simulationChoice(readConfig({ NODE_ENV: "production" }));
  await expect(openModel({ ...NO_MODEL, ...production })).rejects.toThrow(
    /NODE_ENV is production. Set ANTHROPIC_API_KEY/,
  );
  const reached = serveSettings({ host: "0.0.0.0" }, readConfig({ SKEIN_API_KEY: "k".repeat(20) }));
  await expect(openModel(reached)).rejects.toThrow(/0\.0\.0\.0 can be reached from other machines/);
  const asked = simulationChoice(readConfig({ NODE_ENV: "production", SKEIN_MODEL: "simulation" }));
  const { simulated, model, close } = await openModel({ ...NO_MODEL, ...asked });
  expect({ simulated, marked: model.simulated }).toEqual({ simulated: true, marked: true });
  await close();
  expect(() => simulationChoice(readConfig({ SKEIN_MODEL: "opus" }))).toThrow(/SKEIN_MODEL is "opus"/);
});
