import { z } from "zod";
import { Line } from "../agent.ts";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { CallCost, Usage } from "../usage.ts";
import { happenedAt } from "./happened-at.ts";

const Count = z.int().nonnegative();
const AbsolutePath = z.string().startsWith("/", "Expected an absolute path.");

/** Facts about the Claude Code runtime, about hooks, and about checkpoints and rewinds of files. */
export const runtimeFacts = {
  /** The runtime has started for a run. `info` has the model, tools, servers and commands that it reported. */
  "runtime.started": z.object({ run_id: Uuid, info: JsonObject }),
  /** The runtime reported a compaction, a denied call, the progress of a task or a similar event. */
  "runtime.noticed": z.object({
    run_id: Uuid,
    message_id: Uuid,
    subtype: z.string(),
    notice: JsonObject,
    ...happenedAt,
  }),
  /**
   * A message of a subagent inside the runtime. The transcript does not have this message, but the session's cost
   * includes it.
   */
  "subagent.messaged": z.object({
    run_id: Uuid,
    message_id: Uuid,
    /** The tool call that started the subagent. */
    parent_tool_use_id: z.string(),
    role: z.enum(["user", "assistant"]),
    content: Content,
    model: z.string().nullable(),
    /** Null if the message is not a model's answer, or if an earlier part of the answer has the usage. */
    usage: Usage.nullable(),
    cost: CallCost.nullable(),
    /** Set if the built-in simulation answered instead of a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  /** A hook was called. The data has the hook's outcome. */
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
    /** The path of a subagent's transcript. Null for the main transcript of the session. */
    subpath: z.string().nullable(),
    /**
     * Lines of an adopted file that `JSON.stringify` does not reproduce exactly. If `is_entry` is true, the line is
     * the entry at `at`. If not, the line is incomplete or empty, and comes before this entry.
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
    /** Set if no file was restored. */
    error: Failure.nullable(),
  }),
  /** A request to change the model or the permission mode, even during a run. */
  "control.requested": z.object({ permission_mode: z.string().nullable(), model: Line.max(100).nullable() }),
};
