import { z } from "zod";
import type { Bus } from "../ports/bus.ts";
import { type Live, type LiveFrame, createMemoryLive } from "./live.ts";

const Frame = z.object({
  session_id: z.string(),
  run_id: z.string(),
  step: z.int().nonnegative(),
  attempt: z.int().nonnegative(),
  message_id: z.string(),
  offset: z.int().nonnegative(),
  event: z.looseObject({ type: z.string() }),
  isUnannounced: z.boolean().optional(),
});

/** What machines say to each other about the drafts of a session. */
const Words = z.discriminatedUnion("kind", [
  /** Frames of one attempt; `first` counts those before them. */
  z.object({ kind: z.literal("frames"), first: z.int().nonnegative(), frames: z.array(Frame) }),
  z.object({ kind: z.literal("cleared") }),
]);

/** Somebody listens there and lacks frames: whoever makes them says all of them again, to that machine alone. */
const Asked = z.object({ sessionId: z.string(), instance: z.string() });
const QUESTIONS = "asked";

/** Frames wait this long for others, so that many of them travel together. */
const GATHER_MS = 10;
/** A question may get lost while the bus begins to carry the answers: it is asked once more. */
const ASK_AGAIN_MS = 250;

/** Drafts across machines: a reader on one sees the text of a step that another one makes. */
export function createBusLive({ bus }: { readonly bus: Bus }): Live & { close(): void } {
  /** What is made here, and what is made elsewhere and listened to here. */
  const here = createMemoryLive();
  const there = createMemoryLive();
  const made = new Map<string, { readonly frames: LiveFrame[]; said: number }>();
  const unsaid = new Set<string>();
  const rooms = new Map<string, { readers: number; readonly leave: () => void }>();
  let gathering: NodeJS.Timeout | undefined;

  function sayFrames(sessionId: string): void {
    const attempt = made.get(sessionId);
    if (!attempt || !unsaid.delete(sessionId)) return;
    const { frames, said: first } = attempt;
    attempt.said = frames.length;
    bus.say(channelOf(sessionId), { kind: "frames", first, frames: frames.slice(first) });
  }

  function sayAll(): void {
    gathering = undefined;
    for (const sessionId of unsaid) sayFrames(sessionId);
  }

  const stopAnswering = bus.listen(QUESTIONS, (words) => {
    const asked = Asked.safeParse(words).data;
    const frames = asked && made.get(asked.sessionId)?.frames;
    if (frames) bus.say(channelOf(asked.sessionId, asked.instance), { kind: "frames", first: 0, frames });
  });

  function join(sessionId: string): () => void {
    const ask = (): void => bus.say(QUESTIONS, { sessionId, instance: bus.instance });
    const take = createInOrder((frame) => there.publish(frame), ask);
    const hear = (words: unknown): void => {
      const said = Words.safeParse(words).data;
      if (said?.kind === "cleared") there.clear(sessionId);
      if (said?.kind === "frames" && said.frames.every((frame) => frame.session_id === sessionId))
        take(said.first, said.frames);
    };
    const leaves = [bus.listen(channelOf(sessionId), hear), bus.listen(channelOf(sessionId, bus.instance), hear)];
    ask();
    const again = setTimeout(ask, ASK_AGAIN_MS);
    bus.show({ kind: "connected", sessionId });
    return () => {
      clearTimeout(again);
      for (const leave of leaves) leave();
      there.clear(sessionId);
      bus.show({ kind: "disconnected", sessionId });
    };
  }

  return {
    publish(frame) {
      here.publish(frame);
      const { session_id: sessionId } = frame;
      const attempt = made.get(sessionId);
      if (attempt && nameOf(attempt.frames[0]) === nameOf(frame)) attempt.frames.push(frame);
      else {
        sayFrames(sessionId);
        made.set(sessionId, { frames: [frame], said: 0 });
      }
      unsaid.add(sessionId);
      gathering ??= setTimeout(sayAll, GATHER_MS);
    },
    subscribe(sessionId, listener) {
      const room = rooms.get(sessionId) ?? { readers: 0, leave: join(sessionId) };
      rooms.set(sessionId, room);
      room.readers += 1;
      const leaves = [here.subscribe(sessionId, listener), there.subscribe(sessionId, listener)];
      return () => {
        if (leaves.length === 0) return;
        for (const leave of leaves.splice(0)) leave();
        room.readers -= 1;
        if (room.readers > 0 || rooms.get(sessionId) !== room) return;
        rooms.delete(sessionId);
        room.leave();
      };
    },
    clear(sessionId) {
      here.clear(sessionId);
      if (!made.has(sessionId)) return;
      sayFrames(sessionId);
      made.delete(sessionId);
      bus.say(channelOf(sessionId), { kind: "cleared" });
    },
    close() {
      clearTimeout(gathering);
      stopAnswering();
      for (const { leave } of rooms.values()) leave();
      rooms.clear();
    },
  };
}

function channelOf(sessionId: string, instance?: string): string {
  return instance === undefined ? `live:${sessionId}` : `live:${sessionId}:${instance}`;
}

function nameOf(frame: LiveFrame | undefined): string {
  return frame ? `${frame.run_id} ${frame.step} ${frame.attempt} ${frame.message_id}` : "";
}

/**
 * Hands on the frames of an attempt in their order, each once. Where some are missing it asks for them, and until they
 * come nothing is handed on: a draft with a hole is worse than none, and the fact that follows says it all.
 */
function createInOrder(hand: (frame: LiveFrame) => void, ask: () => void) {
  let attempt = "";
  let next = 0;
  return (first: number, frames: readonly LiveFrame[]): void => {
    const name = nameOf(frames[0]);
    if (name !== attempt) {
      attempt = name;
      next = 0;
    }
    if (first > next) return ask();
    for (const frame of frames.slice(next - first)) hand(frame);
    next = Math.max(next, first + frames.length);
  };
}
