/**
 * Finds which lines of a fork were copied from its parent. The copies come first. A fork that names a base in another
 * rollout copies nothing.
 */
import { isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";

export interface CopyGate {
  readonly isSubagent: boolean;
  begin(meta: Value): void;
  isCopy(record: Value, payload: Value): boolean;
}

/** The ids of all turns of a thread; undefined if the thread does not exist, or if its turns have no ids. */
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

  /** Whether this line is not a copy. All lines after it are then not copies either. */
  const isOwn = (record: Value, payload: Value): boolean => {
    const ordinal = numberOf(record["ordinal"]);
    if (boundary !== null && ordinal !== null && ordinal >= boundary) return true;
    const type = stringOf(record["type"]);
    const event = stringOf(payload["type"]);
    // A copy keeps the id of the thread that wrote it.
    const isNamed = type === "token_usage_record" || event === "thread_settings_applied";
    if (isNamed && payload["thread_id"] === threadId) return true;
    const time = Date.parse(stringOf(record["timestamp"]) ?? "");
    if (parentTurns) {
      // `task_started` comes before the context of its turn.
      const names = type === "turn_context" || event === "task_started" || event === "turn_started";
      const turn = stringOf(payload["turn_id"]);
      return names && turn !== null && !parentTurns.has(turn);
    }
    // If the parent is missing, a line is a copy if it is older than the fork, or was written in the same burst as such lines.
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
      // The copies begin with the head of the parent.
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

/** The thread that started this one. */
export function parentOf(meta: Value): string | null {
  const spawn = objectOf(objectOf(objectOf(meta["source"])["subagent"])["thread_spawn"]);
  return stringOf(meta["parent_thread_id"]) ?? stringOf(spawn["parent_thread_id"]);
}
