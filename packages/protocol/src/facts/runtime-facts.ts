import { z } from "zod";
import { Line } from "../agent.ts";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { CallCost, Usage } from "../usage.ts";
import { happenedAt } from "./happened-at.ts";

const Count = z.int().nonnegative();
const AbsolutePath = z.string().startsWith("/", "Expected an absolute path.");

/** Facts that only a runtime with its own process (Claude Code) has. */
export const runtimeFacts = {
  /** The runtime has started for a run, with what it reported: model, tools, servers, commands. */
  "runtime.started": z.object({ run_id: Uuid, info: JsonObject }),
  /** A report of the runtime that is neither an answer nor a result: a compaction, a denial, the progress of a task. */
  "runtime.noticed": z.object({
    run_id: Uuid,
    message_id: Uuid,
    subtype: z.string(),
    notice: JsonObject,
    ...happenedAt,
  }),
  /**
   * A message of a subagent that works inside the runtime. It is not part of the session's own transcript, but its cost
   * counts for the session.
   */
  "subagent.messaged": z.object({
    run_id: Uuid,
    message_id: Uuid,
    /** The call that the subagent works for. */
    parent_tool_use_id: z.string(),
    role: z.enum(["user", "assistant"]),
    content: Content,
    model: z.string().nullable(),
    /** Null for a message that is not a model's answer, and for later parts of an answer that was counted already. */
    usage: Usage.nullable(),
    cost: CallCost.nullable(),
    /** The built-in simulation answered, not a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  /** A hook was called, with its outcome. */
  "hook.called": z.object({
    run_id: Uuid.nullable(),
    hook_event: z.string(),
    tool_use_id: z.string().nullable(),
    tool_name: z.string().nullable(),
    decision: z.enum(["allow", "deny", "ask", "none"]),
    reason: z.string().nullable(),
    /** The input with which the call continues, if the hook changed it. */
    modified_input: JsonObject.nullable(),
    error: Failure.nullable(),
    duration_ms: Count,
  }),
  /** Entries of a Claude Code transcript, stored unchanged. */
  "transcript.appended": z.object({
    entries: z.array(JsonObject),
    /** Which transcript of the session: null is its own, others are those of its subagents. */
    subpath: z.string().nullable(),
    /**
     * The original text of lines of an adopted file that JSON would write differently. A line is entry `at` itself, or
     * stands before this entry and is none (incomplete or empty).
     */
    odd_lines: z.array(z.object({ at: Count, text: z.string(), is_entry: z.boolean() })).optional(),
  }),
  "checkpoint.created": z.object({
    checkpoint_id: Uuid,
    user_message_uuid: Line.min(1).max(100),
    files_modified: z.array(AbsolutePath),
    ...happenedAt,
  }),
  /** A request to restore the files of a checkpoint. */
  "rewind.requested": z.object({
    rewind_id: Uuid,
    checkpoint_id: Uuid,
    user_message_uuid: Line.min(1).max(100),
    dry_run: z.boolean(),
  }),
  "rewind.completed": z.object({
    rewind_id: Uuid,
    checkpoint_id: Uuid,
    dry_run: z.boolean(),
    files_changed: z.array(AbsolutePath),
    insertions: Count,
    deletions: Count,
    /** Set when nothing was restored. */
    error: Failure.nullable(),
  }),
  /** A request to use another model or permission mode from now on, also for a run in progress. */
  "control.requested": z.object({ permission_mode: z.string().nullable(), model: Line.max(100).nullable() }),
};
