import { readFileSync } from "node:fs";
import type { NewEvent } from "@skein/protocol";

/** The record that the writer makes before an operation of the store. */
export interface Begun {
  readonly is: "begun";
  readonly op: number;
  readonly kind: "create" | "prompt" | "edit" | "drive" | "delete" | "record";
  /** The session's id, or the record's id. */
  readonly target: string;
  readonly events?: readonly NewEvent[];
  readonly expect?: number;
  readonly key?: { readonly id: string; readonly fingerprint: string };
  readonly lease?: {
    readonly sessionId: string;
    readonly owner: string;
    readonly fence: number;
    readonly leaseMs: number;
  };
  /** The value of a record. */
  readonly value?: number;
}

/** The record after the operation. Without it the outcome is unknown. */
export type Answer =
  | { readonly is: "ok"; readonly op: number; readonly first?: number; readonly version?: number }
  | { readonly is: "refused"; readonly op: number; readonly code: string }
  | { readonly is: "unknown"; readonly op: number; readonly code: string }
  /** Recorded by the checker: the operation did not happen, and cannot happen any more. */
  | { readonly is: "never"; readonly op: number };

export type Line =
  | { readonly is: "ready"; readonly openMs: number }
  | Begun
  | Answer
  /** Something that must never happen, even after a kill. */
  | { readonly is: "wrong"; readonly sentence: string };

/** An operation with its answer, if one came. */
export interface Operation extends Begun {
  answer: Answer | undefined;
}

export interface Journal {
  readonly operations: readonly Operation[];
  readonly wrong: readonly string[];
  readonly ready: boolean;
}

/** Reads the journal of a killed process. If the last line is cut, it is ignored. */
export function readJournal(file: string): Journal {
  const lines = readFileSync(file, "utf8").split("\n").flatMap(lineOf);
  const operations = new Map<number, Operation>();
  const wrong: string[] = [];
  let ready = false;
  for (const line of lines) {
    if (line.is === "begun") operations.set(line.op, { ...line, answer: undefined });
    else if (line.is === "wrong") wrong.push(line.sentence);
    else if (line.is === "ready") ready = true;
    else {
      const operation = operations.get(line.op);
      if (operation) operation.answer = line;
    }
  }
  return { operations: [...operations.values()], wrong, ready };
}

function lineOf(text: string): Line[] {
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}
