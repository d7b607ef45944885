import { z } from "zod";
import { Line } from "../agent.ts";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { CallCost, Usage } from "../usage.ts";

const Count = z.int().nonnegative();
const AbsolutePath = z.string().startsWith("/", "Expected an absolute path.");

/** What a runtime with a life of its own (Claude Code) adds to the vocabulary of the loop. */
export const runtimeFacts = {
  /** The runtime is up for a run: what it found (model, tools, servers, commands), as it said it. */
  "runtime.started": z.object({ run_id: Uuid, info: JsonObject }),
  /** Something that the runtime said and that is neither an answer nor a result: a compaction, a denial, a task's news. */
  "runtime.noticed": z.object({ run_id: Uuid, message_id: Uuid, subtype: z.string(), notice: JsonObject }),
  /** A message of a subagent that works inside the runtime. It is no part of the session's own transcript; its cost is the session's. */
  "subagent.messaged": z.object({
    run_id: Uuid,
    message_id: Uuid,
    /** The call that the subagent works for. */
    parent_tool_use_id: z.string(),
    role: z.enum(["user", "assistant"]),
    content: Content,
    model: z.string().nullable(),
    /** Null for what is no answer of a model, and for the later parts of one that was counted already. */
    usage: Usage.nullable(),
    cost: CallCost.nullable(),
    /** The built-in simulation answered, not a model. */
    simulated: z.literal(true).optional(),
  }),
  /** A hook was asked or told, and what came of it. */
  "hook.called": z.object({
    run_id: Uuid.nullable(),
    hook_event: z.string(),
    tool_use_id: z.string().nullable(),
    tool_name: z.string().nullable(),
    decision: z.enum(["allow", "deny", "ask", "none"]),
    reason: z.string().nullable(),
    /** The input that the call has from here on, if the hook changed it. */
    modified_input: JsonObject.nullable(),
    error: Failure.nullable(),
    duration_ms: Count,
  }),
  /** Entries of a Claude Code transcript, kept as they are. */
  "transcript.appended": z.object({
    entries: z.array(JsonObject),
    /** Which transcript of the session: null is its own, others are those of its subagents. */
    subpath: z.string().nullable(),
    /**
     * Lines of an adopted file that JSON would not write as they stand there: the text instead of that of entry `at`, or
     * of a line before it that is no entry (a torn one, an empty one).
     */
    odd_lines: z.array(z.object({ at: Count, text: z.string(), is_entry: z.boolean() })).optional(),
  }),
  "checkpoint.created": z.object({
    checkpoint_id: Uuid,
    user_message_uuid: Line.min(1).max(100),
    files_modified: z.array(AbsolutePath),
  }),
  /** From outside: bring the files back to where they were. */
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
    /** Set when nothing was brought back. */
    error: Failure.nullable(),
  }),
  /** From outside: from here on the session works with another model or another permission mode, a run that is under way included. */
  "control.requested": z.object({ permission_mode: z.string().nullable(), model: Line.max(100).nullable() }),
};
