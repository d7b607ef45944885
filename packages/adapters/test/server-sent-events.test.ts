import { expect, test } from "vitest";
import { createEventReader } from "../src/models/server-sent-events.ts";

const stream = 'event: a\r\ndata: {"é":1}\r\n\r\n: a comment\nevent: b\ndata: one\ndata:two\n\nevent: cut\ndata: off';

test.each([1, 2, 3, 7, 1000])("a stream of events is the same in pieces of %d characters", (size) => {
  const read = createEventReader();
  const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
    stream.slice(i * size, i * size + size),
  );
  expect(pieces.flatMap(read)).toEqual([
    { event: "a", data: '{"é":1}' },
    { event: "b", data: "one\ntwo" },
  ]);
});
