import type { Draft } from "@skein/protocol";
import { parse } from "jsonriver";

type JsonValue = Parameters<NonNullable<NonNullable<Parameters<typeof parse>[1]>["completeCallback"]>>[0];

/** An unfinished value. Every field may be missing, and the last text may be incomplete. */
export type Partially<Value> = Value extends object ? { readonly [Key in keyof Value]?: Partially<Value[Key]> } : Value;

/**
 * A draft: a piece of an answer that the model is still writing. For an agent with an `output`, `partial` is the answer
 * so far, which is not checked.
 */
export type PartialDraft<Output> = Draft & { readonly partial?: Partially<Output> };

/** Adds `partial`, the answer so far, to each draft of text. */
export function createPartialOutputs(): (draft: Draft) => Promise<PartialDraft<unknown>> {
  let message = "";
  let reader = createPartialReader();
  return async (draft) => {
    if (draft.event_type !== "message.delta" || draft.data.kind !== "text") return draft;
    const { message_id, attempt, delta } = draft.data;
    const current = `${message_id}/${attempt}`;
    if (current !== message) [message, reader] = [current, createPartialReader()];
    const partial = await reader(delta);
    return partial === undefined ? draft : { ...draft, partial };
  };
}

/**
 * Reads a JSON object piece by piece, and returns the object so far. Later pieces do not change earlier results. Before
 * the first `{`, the result is undefined.
 */
function createPartialReader(): (piece: string) => Promise<object | undefined> {
  const pieces: string[] = [];
  let wake = (): void => {};
  let hungry = Promise.withResolvers<"hungry">();
  let next: Promise<IteratorResult<JsonValue>> | undefined;
  let last: object | undefined;
  let isOver = false;

  async function* source(): AsyncGenerator<string> {
    for (;;) {
      const piece = pieces.shift();
      if (piece !== undefined) yield piece;
      else {
        hungry.resolve("hungry");
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  }
  const values = parse(source());

  return async (piece) => {
    const text = last === undefined ? piece.slice(piece.includes("{") ? piece.indexOf("{") : piece.length) : piece;
    if (text === "" || isOver) return last;
    hungry = Promise.withResolvers();
    pieces.push(text);
    wake();
    try {
      for (;;) {
        next ??= values.next();
        const came = await Promise.race([next, hungry.promise]);
        if (came === "hungry") return last;
        next = undefined;
        if (came.done) isOver = true;
        else last = snapshot(came.value, last as JsonValue) as object;
        if (isOver) return last;
      }
    } catch {
      // Text after the object is not JSON, for example a code fence.
      isOver = true;
      return last;
    }
  };
}

/** Copies a value that grows at its end. The new copy shares finished parts with the previous copy. */
function snapshot(value: JsonValue, before: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) {
    const known = Array.isArray(before) ? before : [];
    return value.map((item, at) => (at < known.length - 1 ? (known[at] as JsonValue) : snapshot(item, known[at])));
  }
  if (typeof value !== "object" || value === null) return value;
  const known = typeof before === "object" && before !== null && !Array.isArray(before) ? before : {};
  const open = Object.keys(known).at(-1);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isDone = Object.hasOwn(known, key) && key !== open;
      return [key, isDone ? (known[key] as JsonValue) : snapshot(item, known[key])];
    }),
  );
}
