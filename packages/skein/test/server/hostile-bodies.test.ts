import { expect, test } from "vitest";
import { say, session, testServer } from "./world.ts";

const tool = (input_schema: unknown) => ({ name: "ask", description: "Asks.", input_schema });

test.each([
  ["no object", { type: "string" }],
  ["a type that there is not", { type: "object", properties: { a: { type: "nonsense" } } }],
])("a tool whose schema the engine cannot read is refused, now and later: %s", async (_, schema) => {
  const { call } = await testServer();
  const made = await call("POST", "/v1/agents", { name: "Helper", frontend_tools: [tool(schema)] });
  expect([made.status, made.body.error.code]).toEqual([422, "invalid"]);
  const { agentId } = await session(call, { frontend_tools: [tool({ type: "object" })] });
  const changed = await call("PATCH", `/v1/agents/${agentId}`, { frontend_tools: [tool(schema)] });
  expect(changed.status).toBe(422);
});

test("an object with half a million keys is refused before anybody looks at them", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  const keys = Array.from({ length: 500_000 }, (_, index) => `"k${index}":0`).join(",");
  const began = performance.now();
  const { status, body } = await call("POST", `${path}/messages`, `{"role":"user","content":{${keys}}}`);
  expect([status, body.error.message]).toEqual([422, "An object of the body has more than 10000 keys."]);
  expect(performance.now() - began).toBeLessThan(1000);
  expect((await say(call, path, "Hello.")).status).toBe(202);
});
