import type { DraftPiece } from "@skein/protocol";
import { z } from "zod";
import type { Bus } from "../ports/bus.ts";
import { type Live, createMemoryLive } from "./live.ts";

const Piece = z.object({
  session_id: z.string(),
  run_id: z.string(),
  step: z.int().nonnegative(),
  attempt: z.int().nonnegative(),
  message_id: z.string(),
  offset: z.int().nonnegative(),
  event: z.looseObject({ type: z.string() }),
  isUnannounced: z.boolean().optional(),
});

/** Messages between machines about drafts. */
const Words = z.discriminatedUnion("kind", [
  /** Pieces of one attempt. `first` is the number of earlier pieces of this attempt. */
  z.object({ kind: z.literal("pieces"), first: z.int().nonnegative(), pieces: z.array(Piece) }),
  z.object({ kind: z.literal("cleared") }),
]);

/**
 * A machine that has a listener but lacks pieces sends this message. The machine where the model writes then sends all
 * pieces again, only to the machine that asked.
 */
const Asked = z.object({ sessionId: z.string(), instance: z.string() });
const QUESTIONS = "asked";

/** How long pieces are collected before they are sent in one message. */
const GATHER_MS = 10;
/**
 * A request may get lost while the bus is subscribing to the answers, so the request is sent again after this delay.
 */
const ASK_AGAIN_MS = 250;

/** Shares drafts between machines: a reader on one machine sees the text that the model writes on another machine. */
export function createBusLive({ bus }: { readonly bus: Bus }): Live & { close(): void } {
  /**
   * `here` has the drafts that this machine makes. `there` has drafts of other machines, for listeners on this machine.
   */
  const here = createMemoryLive();
  const there = createMemoryLive();
  const made = new Map<string, { readonly pieces: DraftPiece[]; said: number }>();
  const unsaid = new Set<string>();
  const rooms = new Map<string, { readers: number; readonly leave: () => void }>();
  let gathering: NodeJS.Timeout | undefined;

  function sayPieces(sessionId: string): void {
    const attempt = made.get(sessionId);
    if (!attempt || !unsaid.delete(sessionId)) return;
    const { pieces, said: first } = attempt;
    attempt.said = pieces.length;
    bus.say(channelOf(sessionId), { kind: "pieces", first, pieces: pieces.slice(first) });
  }

  function sayAll(): void {
    gathering = undefined;
    for (const sessionId of unsaid) sayPieces(sessionId);
  }

  const stopAnswering = bus.listen(QUESTIONS, (words) => {
    const asked = Asked.safeParse(words).data;
    const pieces = asked && made.get(asked.sessionId)?.pieces;
    if (pieces) bus.say(channelOf(asked.sessionId, asked.instance), { kind: "pieces", first: 0, pieces });
  });

  function join(sessionId: string): () => void {
    const ask = (): void => bus.say(QUESTIONS, { sessionId, instance: bus.instance });
    const take = createInOrder((piece) => there.publish(piece), ask);
    const hear = (words: unknown): void => {
      const said = Words.safeParse(words).data;
      if (said?.kind === "cleared") there.clear(sessionId);
      if (said?.kind === "pieces" && said.pieces.every((piece) => piece.session_id === sessionId))
        take(said.first, said.pieces);
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
    publish(piece) {
      here.publish(piece);
      const { session_id: sessionId } = piece;
      const attempt = made.get(sessionId);
      if (attempt && nameOf(attempt.pieces[0]) === nameOf(piece)) attempt.pieces.push(piece);
      else {
        sayPieces(sessionId);
        made.set(sessionId, { pieces: [piece], said: 0 });
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
      sayPieces(sessionId);
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

function nameOf(piece: DraftPiece | undefined): string {
  return piece ? `${piece.run_id} ${piece.step} ${piece.attempt} ${piece.message_id}` : "";
}

/**
 * Passes on the pieces of an attempt in order, without repeats. If pieces are missing, it asks the sender for all
 * pieces and waits for them, because a draft with a gap is worse than no draft. The fact at the end of the step has the
 * whole text anyway.
 */
function createInOrder(hand: (piece: DraftPiece) => void, ask: () => void) {
  let attempt = "";
  let next = 0;
  return (first: number, pieces: readonly DraftPiece[]): void => {
    const name = nameOf(pieces[0]);
    if (name !== attempt) {
      attempt = name;
      next = 0;
    }
    if (first > next) return ask();
    for (const piece of pieces.slice(next - first)) hand(piece);
    next = Math.max(next, first + pieces.length);
  };
}
