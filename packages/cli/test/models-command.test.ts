import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { folder, testServer } from "../../server/test/world.ts";
import { type Ended, call, environmentOf, lines } from "./skein.ts";

test("a model is added, listed, tested, used and removed; its key is only in the environment", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const data = folder();
  const env = { ...environmentOf(data), LLAMA_KEY: "sk-only-here" };
  const skein = (...args: readonly string[]): Promise<Ended> => call([...args, "--data", data], { env, cwd: data });
  const name = "openai-compatible/llama";
  const added = await skein(
    "models",
    "add",
    name,
    "--url",
    `${simulator.url}/v1`,
    "--key-env",
    "LLAMA_KEY",
    "--price",
    "2/8",
  );
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining(`skein models test ${name}`) });
  const listed = await skein("models", "list", "--json");
  expect(lines(listed.out)).toMatchObject([
    { name, provider: "openai-compatible", settings: { key_env: "LLAMA_KEY", price: { input: 2, output: 8 } } },
  ]);
  expect(listed.out).not.toContain("sk-only-here");
  const trials = lines((await skein("models", "test", name, "--json")).out);
  expect(trials.map(({ ability, outcome }) => [ability, outcome])).toEqual([
    ["text", "works"],
    ["tools", "works"],
    ["parallel_tools", "works"],
    ["images", "turned off"],
    ["pdf", "turned off"],
    ["thinking", "works"],
    ["output", "turned off"],
    ["caching", "turned off"],
  ]);
  const ran = await call(["run", "How much is 2+2?", "--model", name, "--store", `sqlite:${data}/skein.db`], {
    env,
    cwd: data,
  });
  expect(ran).toMatchObject({ code: 0, out: expect.stringContaining("The answer is 4.") });
  expect(ran.err).toMatch(/\$0\.00\d+/);
  expect(ran.err).not.toContain("simulation");
  expect((await skein("models", "remove", name)).code).toBe(0);
  expect((await skein("models", "remove", name)).code).toBe(3);
});

test("models of a server are added with a key from a file, tested, listed and removed", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const { url, key } = await testServer();
  const data = folder();
  const env = { ...environmentOf(data), SKEIN_API_KEY: key };
  const skein = (...args: readonly string[]): Promise<Ended> =>
    call(["models", ...args, "--server", url], { env, cwd: data });
  const name = "openai-compatible/llama";
  writeFileSync(join(data, "key"), "sk-only-in-the-store\n");
  const added = await skein("add", name, "--url", `${simulator.url}/v1`, "--key-file", join(data, "key"));
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining("is added") });
  const listed = await skein("list");
  expect(listed.out).toMatch(/openai-compatible\/llama +http.+in the store/);
  expect(listed.out + (await skein("list", "--json")).out).not.toContain("sk-only");
  expect(lines((await skein("test", name, "--json")).out)[0]).toMatchObject({ ability: "text", outcome: "works" });
  expect((await skein("test", "ollama/none")).code).toBe(3);
  expect((await skein("add", name, "--data", data)).code).toBe(2);
  expect((await skein("add", "openai/gpt-6", "--key-env", "HOME")).err).toContain("SKEIN_MODEL_KEY_VARIABLES");
  expect((await skein("remove", name)).code).toBe(0);
  expect((await skein("remove", name)).code).toBe(3);
});

test("a key from a file is stored in the store, and models are called with it", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const data = folder();
  const env = environmentOf(data);
  const skein = (...args: readonly string[]): Promise<Ended> => call([...args, "--data", data], { env, cwd: data });
  writeFileSync(join(data, "key"), "sk-kept");
  const where = ["--url", `${simulator.url}/v1`, "--key-file", join(data, "key")];
  expect((await skein("models", "add", "openai-compatible/llama", ...where)).code).toBe(0);
  expect((await skein("models", "add", "openai-compatible/llama", ...where, "--key-env", "X")).code).toBe(2);
  const trials = lines((await skein("models", "test", "openai-compatible/llama", "--json")).out);
  expect(trials[0]).toMatchObject({ outcome: "works" });
});

test.each([
  [["x/y"], 2, /one of the providers/],
  [["ollama/y", "--url", "nowhere"], 2, /http or https/],
  [["ollama/y", "--price", "cheap"], 2, /--price/],
  [["qwen3", "--url", "http://127.0.0.1:1/v1"], 2, /Model "qwen3": Unknown provider\. Expected provider\/name/],
  [["ollama/y", "--quirks", "{"], 2, /--quirks/],
  [["ollama/y", "--without", "wings"], 2, /wings/],
  [["ollama/y", "--context-window", "big"], 2, /context_window/],
  [["ollama/y", "--key-header", "x-api-key"], 2, /for the adapter anthropic/],
] as const)("skein models add %j is rejected", async (args, code, sentence) => {
  const data = folder();
  const ended = await call(["models", "add", ...args, "--data", data], { env: environmentOf(data), cwd: data });
  expect(ended.err).toMatch(sentence);
  expect(ended.code).toBe(code);
});
