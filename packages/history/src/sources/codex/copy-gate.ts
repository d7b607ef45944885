/**
 * Finds which lines of a fork were copied from its parent. The copied lines come first. If a fork names a base (a line
 * of another file, after which it continues), it has no copied lines.
 */
import { isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";

export interface CopyGate {
  readonly isSubagent: boolean;
  begin(meta: Value): void;
  isCopy(record: Value, payload: Value): boolean;
}

/**
 * Returns the ids of all turns of a thread. Returns undefined if the thread does not exist, or if its turns have no
 * ids.
 */
export type TurnsOf = (threadId: string) => ReadonlySet<string> | undefined;

export function createCopyGate(threadId: string, turnsOf: TurnsOf): CopyGate {
  let parentTurns: ReadonlySet<string> | undefined;
  let isOpen = false;
  let isSubagent = false;
  /** The number of the first line that is not copied. */
  let boundary: number | null = null;
  let begun = Number.NaN;
  let lastTime = Number.NaN;
  let isSecond = true;

  /** Returns true if this line is not a copy. If so, the lines after it are not copies either. */
  const isOwn = (record: Value, payload: Value): boolean => {
    const ordinal = numberOf(record["ordinal"]);
    if (boundary !== null && ordinal !== null && ordinal >= boundary) return true;
    const type = stringOf(record["type"]);
    const event = stringOf(payload["type"]);
    // A copied line keeps the thread id of the parent.
    const isNamed = type === "token_usage_record" || event === "thread_settings_applied";
    if (isNamed && payload["thread_id"] === threadId) return true;
    const time = Date.parse(stringOf(record["timestamp"]) ?? "");
    if (parentTurns) {
      // `task_started` comes before the `turn_context` of the turn.
      const names = type === "turn_context" || event === "task_started" || event === "turn_started";
      const turn = stringOf(payload["turn_id"]);
      return names && turn !== null && !parentTurns.has(turn);
    }
    // If the parent is missing, a line is a copy if it is older than the fork. Lines within a second after a copy are
    // copies too.
    const isAfterBurst = boundary === null && !(time < begun) && time - lastTime > 1000;
    lastTime = time;
    return isAfterBurst;
  };
  return {
    get isSubagent() {
      return isSubagent;
    },
    begin(meta) {
      isSubagent = isSubagentOf(meta);
      boundary = numberOf(Number(meta["subagent_history_start_ordinal"] ?? Number.NaN));
      begun = Date.parse(stringOf(meta["timestamp"]) ?? "");
      const fork = stringOf(meta["forked_from_id"]);
      const parent = fork ?? parentOf(meta);
      if (parent === null || isObject(meta["history_base"])) return;
      parentTurns = turnsOf(parent);
      isOpen = parentTurns !== undefined || fork !== null || boundary !== null;
    },
    isCopy(record, payload) {
      // The first copied line is the `session_meta` of the parent.
      if (isSecond && record["type"] === "session_meta") isOpen ||= payload["id"] !== threadId;
      isSecond = false;
      if (isOpen && isOwn(record, payload)) isOpen = false;
      return isOpen;
    },
  };
}

function isSubagentOf(meta: Value): boolean {
  const spawned = objectOf(meta["source"])["subagent"];
  return spawned !== undefined || meta["thread_source"] === "subagent" || meta["thread_source"] === "guardian_review";
}

/** Returns the id of the thread that started this thread. */
export function parentOf(meta: Value): string | null {
  const spawn = objectOf(objectOf(objectOf(meta["source"])["subagent"])["thread_spawn"]);
  return stringOf(meta["parent_thread_id"]) ?? stringOf(spawn["parent_thread_id"]);
}
