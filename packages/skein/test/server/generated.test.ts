import { expect, test } from "vitest";
import { type OpenApi, randomFrom, requestsFrom } from "../../../../bench/server/generated-requests.ts";
import { say, session, settled, testServer } from "./world.ts";

/** The short form of `npm run bench -- server --part generated`. */
const REQUESTS = 2000;

test(`${REQUESTS} requests made from our own description bring no 5xx, no answer outside the schema and no hang`, async () => {
  const { call, url, key, logged } = await testServer({ limits: { sessionsPerMinute: 1e6 } });
  const made = await session(call, { max_retries: 0 });
  await say(call, made.path, "Hello.");
  await settled(call, made.path);
  const [run] = (await call("GET", `${made.path}/runs`)).body.data;
  const pool = {
    agent_id: [made.agentId],
    session_id: [made.id],
    run_id: [String(run?.["id"])],
    step: ["1"],
    tool_use_id: ["call_1"],
    file_id: ["file_1"],
  };
  const api = (await call("GET", "/openapi.json")).body as unknown as OpenApi;
  const next = requestsFrom(api, { pool, random: randomFrom(7) });
  const problems: string[] = [];
  const seen = new Set<string>();
  const worker = async (): Promise<void> => {
    while (count++ < REQUESTS) {
      const { name, method, path, headers, body, problem } = next();
      if (name.startsWith("deleteSession") && path.includes(made.id)) continue;
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...headers, "x-api-key": key },
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(5000),
      });
      const found = problem(response.status, response.headers.get("content-type") ?? "", await response.text());
      seen.add(`${name} ${Math.floor(response.status / 100)}xx`);
      if (found !== undefined) problems.push(`${name} ${method} ${path} ${body ?? ""} → ${found}`);
    }
  };
  let count = 0;
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(problems.slice(0, 5), JSON.stringify(logged.filter(({ level }) => level === "error").slice(0, 3))).toEqual([]);
  for (const name of ["createAgent 2xx", "createAgent 4xx", "postMessage 2xx", "listEvents 2xx", "getRun 2xx"])
    expect(seen).toContain(name);
});
