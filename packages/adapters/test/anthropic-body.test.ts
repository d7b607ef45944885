import { expect, test } from "vitest";
import { EVERY_ABILITY, callOf, emptyState } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { messagesBody } from "../src/models/anthropic/body.ts";

const abilities = EVERY_ABILITY;

type Transcript = ReturnType<typeof emptyState>["transcript"];

function stateWith(transcript: Transcript, recalled: Record<string, readonly string[]> = {}) {
  return { ...emptyState("01890000-0000-7000-8000-000000000001"), agent: scriptedAgent, transcript, recalled };
}

function turn(at: number): Transcript {
  const call = `toolu_${at}`;
  return [
    { id: `p${at}`, role: "user", content: `prompt ${at} \ud800 ä \0` },
    {
      id: `a${at}`,
      role: "assistant",
      content: [
        { type: "text", text: at % 3 === 0 ? "" : "Acting." },
        { type: "tool_use", id: call, name: "add", input: { at } },
      ],
    },
    { id: `r${at}`, role: "user", content: [{ type: "tool_result", tool_use_id: call, content: `${at}` }] },
    { id: `e${at}`, role: "assistant", content: at % 5 === 0 ? "" : `answer ${at}` },
  ];
}

function expectSame(state: ReturnType<typeof stateWith>, purpose: "step" | "summary" | "compaction" = "step"): void {
  const call = callOf(state, purpose, 2048);
  const { body, encoded } = messagesBody(call, { name: call.model, isClaude: true, abilities });
  const bytes = encoded();
  const all = "pieces" in bytes ? Buffer.concat([...bytes.pieces()]) : bytes;
  expect(all.length).toBe(bytes.length);
  expect(JSON.parse(new TextDecoder().decode(all))).toEqual(JSON.parse(JSON.stringify({ ...body, stream: true })));
}

test("the bytes of a request are its JSON body, at every step of a growing conversation", () => {
  const state = stateWith([]);
  for (let at = 0; at < 60; at++)
    for (const message of turn(at)) {
      state.transcript.push(message);
      expectSame(state);
      if (at % 7 === 0) expectSame(state, "summary");
    }
});

test("cached JSON of a request is not used after a change of the memories, a compaction or a repair, or for another session", () => {
  const transcript = Array.from({ length: 30 }, (_, at) => turn(at)).flat();
  const state = stateWith(transcript);
  expectSame(state);
  expectSame({ ...state, recalled: { p3: ["likes blue"] } });
  expectSame(state);
  expectSame({ ...state, compacted: { until: 60, messages: [{ role: "user", content: "so far" }] } } as never);
  expectSame(state, "compaction");
  transcript.push({ id: "x", role: "assistant", content: [{ type: "tool_use", id: "t", name: "add", input: {} }] });
  transcript.push({ id: "y", role: "user", content: "no result came" });
  expectSame(state);
  expectSame(stateWith(transcript.slice(0, 50)));
});

test("a request with large files is sent in pieces with the same bytes, without keeping a copy of the files", () => {
  const file = (at: number) => ({ type: "image" as const, source: { data: `${at}é`.repeat(700_000) } });
  const state = stateWith(Array.from({ length: 30 }, (_, at) => turn(at)).flat());
  state.transcript.splice(4, 0, { id: "f1", role: "user", content: [file(1)] } as never);
  state.transcript.push({ id: "f2", role: "user", content: [file(2)] } as never);
  expectSame(state);
  const call = callOf(state, "step", 2048);
  const { encoded } = messagesBody(call, { name: call.model, isClaude: true, abilities });
  const body = encoded();
  if (!("pieces" in body)) throw new Error("Expected a body in pieces.");
  expect(Math.max(...[...body.pieces()].map(({ length }) => length))).toBeLessThan(1024 * 1024);
});
