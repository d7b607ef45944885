import { expect, test } from "vitest";
import { say, session, testServer } from "./world.ts";

const tool = (input_schema: unknown) => ({ name: "ask", description: "Asks.", input_schema });

test.each([
  ["no object", { type: "string" }],
  ["an unknown type", { type: "object", properties: { a: { type: "nonsense" } } }],
])(
  "a tool whose schema the engine cannot read is rejected when an agent is created or changed: %s",
  async (_, schema) => {
    const { call } = await testServer();
    const made = await call("POST", "/v1/agents", { name: "Helper", frontend_tools: [tool(schema)] });
    expect([made.status, made.body.error.code]).toEqual([422, "invalid"]);
    const { agentId } = await session(call, { frontend_tools: [tool({ type: "object" })] });
    const changed = await call("PATCH", `/v1/agents/${agentId}`, { frontend_tools: [tool(schema)] });
    expect(changed.status).toBe(422);
  },
);

const around = (content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"role":"user","content":'), Buffer.from(content), Buffer.from("}")]);
const zeros = (count: number): string => Array.from({ length: count }, () => "0").join(",");

test.each([
  [
    "half a million keys",
    `{${Array.from({ length: 500_000 }, (_, index) => `"k${index}":0`).join(",")}}`,
    422,
    "An object or a list of the body has more than 10000 entries.",
  ],
  ["a million zeros", `[${zeros(1_000_000)}]`, 422, "An object or a list of the body has more than 10000 entries."],
  [
    "a hundred lists of 9,999 zeros",
    `[${Array.from({ length: 100 }, () => `[${zeros(9999)}]`).join(",")}]`,
    422,
    "The body has more than 200000 values.",
  ],
  ["100,000 levels", "[".repeat(100_000), 422, "The body is nested deeper than 200 levels."],
  [
    "a number that is too large for a double",
    `{"text":1e400}`,
    422,
    "The body has a number that is too large to be stored exactly.",
  ],
  ["invalid UTF-8", Buffer.from('{"text":"\xff"}', "latin1"), 400, /not valid JSON/],
  ["an incomplete character", Buffer.from('{"text":"\xc3', "latin1"), 400, /not valid JSON/],
  ["half a value", `{"text":"x`, 400, "The body is not valid JSON in UTF-8."],
  ["9 million letters", `{"text":"${"x".repeat(9_000_000)}"}`, 413, /characters/],
])(
  "a message with %s is rejected with the reason, and the next message is accepted",
  async (_, content, status, sentence) => {
    const { call } = await testServer();
    const { path } = await session(call);
    const refused = await call("POST", `${path}/messages`, around(content));
    expect([refused.status, refused.body.error.message]).toEqual([status, expect.stringMatching(sentence)]);
    expect((await say(call, path, "Hello.")).status).toBe(202);
  },
);
