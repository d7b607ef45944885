import { script } from "@skein/simulator";
import type { KnownThings } from "./known-things.ts";

const ADD = { type: "object", properties: { a: { type: "number" } } };
const TOOLS = [{ name: "ask_browser", description: "Asks the page.", input_schema: ADD }];

/**
 * The first prompt only gets an answer, the second calls a tool of the server, and the third waits for a tool of the
 * client.
 */
const PROMPTS = [
  `Hello. ${script([{ text: "Good morning." }], "fuzz-text")}`,
  `Add. ${script([{ tools: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "3" }], "fuzz-tool")}`,
  `Ask. ${script([{ tools: [{ name: "ask_browser", input: { a: 1 } }] }, { text: "Fine." }], "fuzz-wait")}`,
];

export interface WorldOptions {
  readonly url: string;
  readonly key: string;
  readonly known: KnownThings;
}

/** Makes an agent and three sessions, as targets for requests. */
export async function makeWorld({ url, key, known }: WorldOptions): Promise<void> {
  const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const value = (await answer.json()) as Record<string, unknown>;
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(value)}`);
    known.learn(path, value);
    return value;
  };
  const agent = await call("POST", "/v1/agents", {
    name: "Fuzzed",
    tags: ["a", "b"],
    frontend_tools: TOOLS,
    ...((await hasAdd(call)) && { tools: ["add"] }),
  });
  for (const text of PROMPTS) {
    const { id } = await call("POST", "/v1/sessions", { agent_id: agent["id"], title: "A session", tags: ["a"] });
    const path = `/v1/sessions/${String(id)}`;
    await call("POST", `${path}/messages`, { role: "user", content: { text } });
    for (let tries = 0; tries < 100; tries++) {
      const { activity } = await call("GET", path);
      if (!["pending", "queued", "running"].includes(String(activity))) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const part of ["messages", "runs", "awaits", "effects", "events", "export"])
      await call("GET", `${path}/${part}`);
  }
}

/** Whether the server has the tool `add`, which the prompts call. A server at another address may not have it. */
async function hasAdd(call: (method: string, path: string, body?: unknown) => Promise<unknown>): Promise<boolean> {
  return call("POST", "/v1/agents", { name: "With add", tools: ["add"] }).then(
    () => true,
    () => false,
  );
}
