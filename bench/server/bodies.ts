import type { Result } from "../store/results.ts";
import type { Served } from "./served.ts";

const text = (length: number) => `{"role":"user","content":{"text":"${"x".repeat(length)}"}}`;
const blocks = (items: string) => `{"role":"user","content":[${items}]}`;
const image = (bytes: Buffer) =>
  `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${bytes.toString("base64")}"}}`;
const list = (count: number, item: string) => Array.from({ length: count }, () => item).join(",");

/** Hostile bodies, with the expected answer to each. */
const BODIES: readonly (readonly [what: string, body: () => string, status: number])[] = [
  ["100,000 levels", () => blocks("[".repeat(100_000)), 422],
  ["1,000,000 keys", () => blocks(`{${Array.from({ length: 1e6 }, (_, at) => `"k${at}":0`).join(",")}}`), 422],
  ["1,000,000 zeros", () => blocks(list(1e6, "0")), 422],
  ["100 lists of 10,000 zeros", () => blocks(list(100, `[${list(10_000, "0")}]`)), 422],
  ["10,000 invalid blocks", () => blocks(list(9999, "{}")), 422],
  ["30 MB of text", () => text(30e6), 413],
  ["30 MB of text in 1,000 blocks", () => blocks(list(1000, `{"type":"text","text":"${"x".repeat(30_000)}"}`)), 413],
  ["30 MB of non-ASCII letters", () => text(0).replace('""', `"${"ü".repeat(15e6)}"`), 413],
  ["an image of 20 MB", () => blocks(image(Buffer.alloc(20e6, 1))), 422],
  ["3 MB that are not an image", () => blocks(image(Buffer.alloc(3e6, 1))), 422],
];

/** Measures how long a rejected body blocks the event loop, and so other requests, and how soon the answer comes. */
export async function hostileBodies(server: Served): Promise<Result[]> {
  const agent = await server.call("POST", "/v1/agents", { name: "Bench" });
  const session = await server.call("POST", "/v1/sessions", { agent_id: agent["id"] });
  const url = `${server.url}/v1/sessions/${String(session["id"])}/messages`;
  const send = async (body: string): Promise<number> => {
    const headers = { "x-api-key": server.key, "content-type": "application/json" };
    const answer = await fetch(url, { method: "POST", headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  const results: Result[] = [];
  for (const [what, make, expected] of BODIES) {
    const body = make();
    const stalls: number[] = [];
    const times: number[] = [];
    let wrong = 0;
    for (let at = 0; at < 4; at++) {
      await server.holds();
      const began = performance.now();
      if ((await send(body)) !== expected) wrong += 1;
      times.push(performance.now() - began);
      stalls.push((await server.holds()).stall);
    }
    // The first measurement is not counted, because it compiles code. The best of the others counts, because other load
    // only adds time.
    const stall = Math.min(...stalls.slice(1));
    results.push({
      what: `event loop, ${what}`,
      store: "sqlite",
      value: stall,
      unit: "ms",
      goal: "≤ 50 ms",
      passed: stall <= 50 && wrong === 0,
      note: `${expected} after ${Math.min(...times).toFixed(0)} ms${wrong > 0 ? `; ${wrong} other answers` : ""}`,
    });
  }
  return results;
}
