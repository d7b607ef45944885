import { createIds, type DraftPiece } from "@skein/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createBusLive } from "../live/bus-live.ts";
import { nudgeOthers } from "../live/bus-nudges.ts";
import type { Bus } from "../ports/bus.ts";
import type { Live } from "../live/live.ts";
import type { Store } from "../ports/store.ts";
import { createMemoryStore } from "../memory-store/memory-store.ts";
import { naughtyText } from "./naughty-text.ts";

/** How long something asynchronous may take. */
const SOON = { timeout: 10_000, interval: 5 };

/**
 * Tests the rules that every `Bus` must keep. A bus carries messages between the machines of a deployment; each call of
 * `open` connects one more machine.
 */
export function describeBus(name: string, open: () => Promise<Bus>): void {
  describe(`${name}: bus contract`, () => {
    const ids = createIds();
    let machines: Bus[] = [];
    let a: Bus;
    let b: Bus;
    beforeEach(async () => {
      machines = [await open(), await open()];
      [a, b] = machines as [Bus, Bus];
      for (const machine of machines) await expect.poll(() => machine.check().then(() => "works"), SOON).toBe("works");
    });
    afterEach(async () => {
      await Promise.all(machines.map((machine) => machine.close()));
    });

    /** Collects what `machine` receives on the channel. Resolves when messages of `from` arrive. */
    async function hears(machine: Bus, channel: string, from: Bus): Promise<unknown[]> {
      const heard: unknown[] = [];
      machine.listen(channel, (words) => heard.push(words));
      await expect.poll(() => (from.say(channel, "?"), heard), SOON).toContain("?");
      await settled(heard);
      return heard;
    }

    test("a bus carries messages to the listeners on other machines, in order and unchanged", async () => {
      const heard = await hears(b, "c", a);
      const said = [...naughtyText.map((text) => ({ text })), null, [1, { deep: true }]];
      for (const words of said) a.say("c", words);
      const carried = (): unknown[] => heard.filter((words) => words !== "?");
      await expect.poll(() => carried().length, SOON).toBe(said.length);
      expect(carried()).toEqual(JSON.parse(JSON.stringify(said)));
    });

    test("a message does not reach its sender, other channels or a listener that has unsubscribed", async () => {
      const heard = await hears(b, "c", a);
      const own: unknown[] = [];
      const others: unknown[] = [];
      a.listen("c", (words) => own.push(words));
      b.listen("other", (words) => others.push(words));
      const left: unknown[] = [];
      const leave = b.listen("c", (words) => left.push(words));
      leave();
      leave();
      a.say("c", "last");
      await expect.poll(() => heard, SOON).toContain("last");
      expect([own, others, left.filter((words) => words === "last")]).toEqual([[], [], []]);
    });

    test("each machine has its own name", () => {
      expect(a.instance).not.toBe(b.instance);
    });

    describe("pieces of unfinished answers (drafts)", () => {
      const sessionId = ids();
      let made: ReturnType<typeof createBusLive>;
      let read: ReturnType<typeof createBusLive>;
      beforeEach(() => {
        made = createBusLive({ bus: a });
        read = createBusLive({ bus: b });
      });
      afterEach(() => {
        made.close();
        read.close();
      });

      function piece(number: number, messageId = "m"): DraftPiece {
        const event = { type: "content_block_delta", delta: { type: "text_delta", text: `${number} ` } };
        return {
          session_id: sessionId,
          run_id: "r",
          step: 1,
          attempt: 1,
          message_id: messageId,
          offset: number,
          event,
        };
      }

      function reader(live: Live): number[] {
        const seen: number[] = [];
        live.subscribe(sessionId, ({ offset }) => seen.push(offset));
        return seen;
      }

      test("a reader on another machine that joins in the middle of an answer gets all pieces of the answer", async () => {
        for (let n = 0; n < 5; n++) made.publish(piece(n));
        const seen = reader(read);
        const own = reader(made);
        await expect.poll(() => seen.length, SOON).toBe(5);
        for (let n = 5; n < 50; n++) made.publish(piece(n));
        await expect.poll(() => seen.length, SOON).toBe(50);
        const late = reader(read);
        const whole = Array.from({ length: 50 }, (_, n) => n);
        expect([seen, late, own]).toEqual([whole, whole, whole]);
      });

      test("a reader gets all pieces of the next answer, and a later reader gets no pieces of ended answers", async () => {
        const seen = reader(read);
        await expect
          .poll(() => {
            made.publish(piece(0, ids()));
            return seen.length;
          }, SOON)
          .toBeGreaterThan(0);
        made.clear(sessionId);
        made.publish(piece(0, "second"));
        made.publish(piece(1, "second"));
        await expect.poll(() => seen.slice(-2), SOON).toEqual([0, 1]);
        made.clear(sessionId);
        await settled(seen);
        expect(reader(read)).toEqual([]);
      });

      test("invalid messages about drafts are dropped", async () => {
        const seen = reader(read);
        const heard = await hears(b, "marker", a);
        for (const words of [
          null,
          "x",
          { kind: "pieces", first: -1, pieces: [] },
          { kind: "pieces", first: 0, pieces: [{}] },
        ])
          a.say(`live:${sessionId}`, words);
        a.say(`live:${sessionId}`, { kind: "pieces", first: 0, pieces: [{ ...piece(0), session_id: "other" }] });
        a.say("marker", "end");
        await expect.poll(() => heard, SOON).toContain("end");
        expect(seen).toEqual([]);
      });
    });

    test("a store tells its listeners about a notice of new events from another machine, and does not forward the notice", async () => {
      const [here, there] = [createMemoryStore(), createMemoryStore()];
      const stops = [nudgeOthers({ store: here, bus: a }), nudgeOthers({ store: there, bus: b })];
      const poked: string[] = [];
      const echoed: string[] = [];
      there.onNews((sessionId, events) => void (events ?? poked.push(sessionId)));
      here.onNews((sessionId, events) => void (events ?? echoed.push(sessionId)));
      const data = {
        tenant: "t",
        agent_id: ids(),
        agent_version: 1,
        agent: (await import("./script.ts")).scriptedAgent,
        title: null,
        tags: [],
        model_id: null,
        working_directory: null,
        metadata: {},
        parent: null,
        subagent_of: null,
      };
      const made = async (store: Store): Promise<string> => {
        const id = ids();
        await store.append(id, [{ id: ids(), event_type: "session.created", data }], { expect: 0 });
        return id;
      };
      // Waits until both machines receive notices.
      await expect.poll(async () => (await made(here), poked.length), SOON).toBeGreaterThan(0);
      await expect.poll(async () => (await made(there), echoed.length), SOON).toBeGreaterThan(0);
      const first = await made(here);
      await expect.poll(() => poked, SOON).toContain(first);
      // A forwarded notice would arrive before the notice of a later session.
      const later = await made(there);
      await expect.poll(() => echoed, SOON).toContain(later);
      expect(echoed).not.toContain(first);
      for (const stop of stops) stop();
    });
  });
}

/** Waits until no more messages arrive. */
async function settled(heard: readonly unknown[]): Promise<void> {
  for (let before = -1; before !== heard.length;) {
    before = heard.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
