import { expect, test } from "vitest";
import { Uuid, createIds, partId } from "../src/ids.ts";

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const millis = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** Makes this many ids, and counts those that are not greater than the id before them. */
function outOfOrder(ids: () => string, count: number): number {
  let wrong = 0;
  let last = "";
  for (let i = 0; i < count; i++) {
    const id = ids();
    if (id <= last) wrong += 1;
    last = id;
  }
  return wrong;
}

test("a million ids are in order", () => {
  expect(outOfOrder(createIds(), 1_000_000)).toBe(0);
});

test("100,000 ids of the same millisecond are in order", () => {
  expect(outOfOrder(createIds({ now: () => 1_700_000_000_000 }), 100_000)).toBe(0);
});

test("ids stay in order after the clock goes back an hour", () => {
  let time = 1_700_000_000_000;
  const ids = createIds({ now: () => time });
  const before = ids();
  time -= 3_600_000;
  const after = ids();
  expect(after > before).toBe(true);
  expect(millis(after)).toBe(millis(before));
  time += 7_200_000;
  expect(millis(ids())).toBe(time);
});

test("the counter in an id starts with its top bit 0, so that it can grow within a millisecond", () => {
  const ids = createIds({ now: () => 5, random: (bytes) => bytes.fill(0xff) });
  expect(ids().slice(0, 23)).toBe("00000000-0005-77ff-bfff");
  expect(ids().slice(0, 23)).toBe("00000000-0005-7800-8000");
});

test("an id is a UUID v7 with the time in its first 48 bits", () => {
  const id = createIds({ now: () => Date.UTC(2026, 0, 7, 12) })();
  expect(id).toMatch(V7);
  expect(new Date(millis(id)).toISOString()).toBe("2026-01-07T12:00:00.000Z");
});

test("two generators with the same clock and the same random bytes make the same ids", () => {
  const deps = { now: () => 1, random: (bytes: Uint8Array) => bytes.fill(7) };
  const [one, other] = [createIds(deps), createIds(deps)];
  expect([one(), one()]).toEqual([other(), other()]);
});

test("two generators with the same clock make different ids", () => {
  const now = () => 1_700_000_000_000;
  const [one, other] = [createIds({ now }), createIds({ now })];
  const made = Array.from({ length: 10_000 }, () => [one(), other()]).flat();
  expect(new Set(made).size).toBe(20_000);
});

test.each([
  ["part 0 is the message itself", "01890000-0000-7000-8000-00000000000a", 0, "01890000-0000-7000-8000-00000000000a"],
  ["part 1 is the next number", "01890000-0000-7000-8000-00000000000a", 1, "01890000-0000-7000-8000-00000000000b"],
  ["the last 32 bits wrap around", "01890000-0000-7000-8000-0000ffffffff", 2, "01890000-0000-7000-8000-000000000001"],
  [
    "the bits before the last 32 stay",
    "01890000-0000-7000-8000-abcdffffffff",
    1,
    "01890000-0000-7000-8000-abcd00000000",
  ],
])("the id of a part: %s", (_, messageId, part, expected) => {
  expect(partId(messageId, part)).toBe(expected);
  expect(partId(messageId, part)).toBe(expected);
});

test.each([
  ["ours", "01890000-0000-7000-8000-00000000000a", true],
  ["a foreign v4", "be74c085-8d87-49a7-9100-7f0e83f29a10", true],
  ["the nil UUID", "00000000-0000-0000-0000-000000000000", true],
  ["upper case", "BE74C085-8D87-49A7-9100-7F0E83F29A10", true],
  ["braces", "{be74c085-8d87-49a7-9100-7f0e83f29a10}", false],
  ["no hyphens", "be74c0858d8749a791007f0e83f29a10", false],
  ["a path", "../../../etc/passwd", false],
  ["a line break at the end", "be74c085-8d87-49a7-9100-7f0e83f29a10\n", false],
  ["nothing", "", false],
])("a UUID is checked: %s", (_, text, valid) => {
  expect(Uuid.safeParse(text).success).toBe(valid);
});
