import { createAgent } from "skein";
import { expect, test } from "vitest";
import { pick } from "../../../../core/test/loop/tools.ts";
import { say, scripted, session, settled, testServer } from "../../world.ts";

/** Reads a stream of `data:` frames to its end, and returns the text. */
async function textFrames(url: string, key: string): Promise<readonly string[]> {
  const response = await fetch(url, { headers: { "x-api-key": key } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const frames = (await response.text()).split("\n\n").filter((frame) => frame.startsWith("data: "));
  return frames.map((frame) => frame.slice(6).replaceAll("\ndata: ", "\n"));
}

test("a run can be read as text in the form json during the run, and in the forms json, xml and raw afterwards", async () => {
  const { call, url, key } = await testServer();
  const { id } = await session(call);
  const slow = { text: "The answer\nis 4", chunk: 5, chunkDelayMs: 100, delayMs: 1500 };
  const posted = await say(call, `/v1/sessions/${id}`, scripted("How much is 2+2?", [slow]));
  const run_id = String(posted.body["run_id"]);
  const path = `${url}/v1/sessions/${id}/runs/${run_id}/text`;

  const live = await textFrames(`${path}?format=json`, key);
  expect(live.at(-1)).toBe("[DONE]");
  const envelopes = live.slice(0, -1).map((frame) => JSON.parse(frame) as { type: string; delta?: string });
  const text = envelopes.filter(({ type }) => type === "text").map(({ delta }) => delta ?? "");
  expect(text.join("")).toBe("The answer\nis 4");
  expect(text.length).toBeGreaterThan(1);

  await settled(call, `/v1/sessions/${id}`);
  expect((await textFrames(path, key)).at(-1)).toBe("[DONE]");
  expect((await textFrames(`${path}?format=xml`, key)).join("")).toContain("The answer\nis 4");
  const raw = (await textFrames(`${path}?format=raw`, key)).map(
    (frame) => (JSON.parse(frame) as { type: string }).type,
  );
  expect(raw).toContain("message_stop");
});

test("an unknown run and an unknown format are rejected", async () => {
  const { call } = await testServer();
  const { id } = await session(call);
  const path = `/v1/sessions/${id}/runs/01890000-0000-7000-8000-000000000000/text`;
  expect((await call("GET", path)).status).toBe(404);
  expect((await call("GET", `${path}?format=yaml`)).status).toBe(422);
});

test("the text of a queued run begins when the run begins, and ends without text if the run is cancelled in the queue", async () => {
  const { call, url, key } = await testServer();
  const { id } = await session(call);
  const path = `/v1/sessions/${id}`;
  const text = (answer: { body: Record<string, unknown> }) =>
    textFrames(`${url}${path}/runs/${String(answer.body["run_id"])}/text?format=xml`, key);
  await say(call, path, scripted("One.", [{ text: "First.", delayMs: 1500 }]));
  const second = await say(call, path, scripted("Two.", [{ text: "Second." }]));
  const third = await say(call, path, scripted("Three.", [{ text: "Third." }]));
  const [reading, waiting] = [text(second), text(third)];
  await call("POST", `${path}/cancel`, { run_id: third.body["run_id"] });
  expect((await reading).join("")).toContain("Second.");
  expect((await reading).join("")).not.toContain("First.");
  expect((await waiting).join("")).not.toContain("Third.");
});

test("the history of a run has the messages before the run, while it runs and afterwards", async () => {
  const { call, url, key } = await testServer();
  const { id } = await session(call, { stream_meta_history_and_tool_results: true });
  const path = `/v1/sessions/${id}`;
  const said: unknown[] = [];
  for (const prompt of ["One.", "Two.", "Three."]) {
    const { body } = await say(call, path, prompt);
    const textPath = `${url}${path}/runs/${String(body["run_id"])}/text`;
    const history = async () => {
      const [first = ""] = await textFrames(textPath, key);
      const { delta } = JSON.parse(first) as { delta: string };
      return (JSON.parse(delta) as { message_history: unknown[] }).message_history;
    };
    expect(await history()).toHaveLength(said.length);
    await settled(call, path);
    expect(await history()).toHaveLength(said.length);
    said.push("the prompt", "its answer");
  }
});

test("the text continues while a subagent works, and ends when the subagent waits for an answer", async () => {
  const helper = createAgent({ name: "helper", description: "Helps.", tools: [pick] });
  const boss = createAgent({ name: "Boss", subagents: [helper] });
  const { call, url, key } = await testServer({ config: { agents: [boss] } });
  const agent = (await call("GET", "/v1/agents")).body.data.find(({ name }) => name === "Boss");
  const { body } = await call("POST", `/v1/agents/${String(agent?.["id"])}/sessions`, {});
  const path = `/v1/sessions/${body.id}`;
  const textOf = async (task: string): Promise<string> => {
    const help = { id: `toolu_${task.length}`, name: "helper", input: { prompt: task } };
    const said = await say(
      call,
      path,
      scripted(`Get help ${task.length}.`, [{ tools: [help] }, { text: "It is done." }]),
    );
    return (await textFrames(`${url}${path}/runs/${String(said.body["run_id"])}/text?format=xml`, key)).join("");
  };
  expect(await textOf(scripted("Help.", [{ text: "Helped.", delayMs: 300 }]))).toContain("It is done.");
  const asks = { tools: [{ id: "toolu_pick", name: "pick", input: { of: ["red"] } }] };
  expect(await textOf(scripted("Ask first.", [asks, { text: "Asked." }]))).not.toContain("It is done.");
});
