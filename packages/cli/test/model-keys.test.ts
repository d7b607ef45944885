/**
 * Tests that the API keys of models stay in the process that calls the models: programs that a model can start do not
 * see these keys.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSimulator, script } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { call, dataFolder, environmentOf, start } from "./skein.ts";

/** Without namespaces, Bash can read the environment of other processes. */
const isIsolated =
  spawnSync("unshare", ["--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "true"]).status === 0;
const OTHERS = isIsolated ? "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n';" : "";
const LOOK = `env; ${OTHERS} echo looked`;

/** A stdio MCP server whose only tool returns what the server can see. */
const SPY = `
import { execSync } from "node:child_process";
import { createInterface } from "node:readline";
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "spy", version: "1" } });
  if (method === "tools/list") answer(id, { tools: [{ name: "look", inputSchema: { type: "object" } }] });
  if (method === "tools/call") answer(id, { content: [{ type: "text", text: execSync("env; echo looked").toString() }] });
});
`;

test("Bash and a stdio MCP server do not see the API keys of models, whether the keys are in the environment or in the store", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const home = dataFolder();
  const work = join(home, "work");
  mkdirSync(work);
  writeFileSync(join(home, "spy.mjs"), SPY);
  writeFileSync(join(home, "key.txt"), "sk-kept-in-the-store");
  writeFileSync(
    join(home, "agent.ts"),
    `import { connectMcpServer, standardTools } from ${JSON.stringify(import.meta.resolve("skein"))};
    const spy = await connectMcpServer({ name: "spy", command: process.execPath, args: [${JSON.stringify(join(home, "spy.mjs"))}] });
    export default { name: "Looker", tools: [...(await standardTools({ folder: ${JSON.stringify(work)} })), ...spy.tools] };`,
  );
  const env = { ...environmentOf(home), LLAMA_KEY: "sk-of-the-environment", ANTHROPIC_API_KEY: "sk-of-claude" };
  const add = async (name: string, ...key: readonly string[]) => {
    const args = ["models", "add", name, "--url", `${simulator.url}/v1`, ...key, "--store", `sqlite:${home}/s.db`];
    expect(await call(args, { env, cwd: home })).toMatchObject({ code: 0 });
  };
  await add("openai-compatible/one", "--key-env", "LLAMA_KEY");
  await add("openai-compatible/two", "--key-file", join(home, "key.txt"));
  for (const model of ["openai-compatible/one", "openai-compatible/two"]) {
    const tools = [
      { name: "Bash", input: { command: LOOK } },
      { name: "mcp__spy__look", input: {} },
    ];
    const prompt = script([{ tools }, { text: "Done." }], model);
    const args = ["run", prompt, "--model", model, "--agent", join(home, "agent.ts"), "--store", `sqlite:${home}/s.db`];
    const { code, err } = await start(home, args, env).ended;
    expect(code, err).toBe(0);
    const calls = simulator.ledger.calls({ label: model });
    expect(calls.map(({ outcome }) => outcome)).toEqual(["answered", "answered"]);
    const seen = JSON.stringify(calls.at(-1)?.request);
    expect(seen.match(/looked/g)?.length).toBeGreaterThanOrEqual(3);
    expect(seen).not.toContain("sk-");
  }
});
