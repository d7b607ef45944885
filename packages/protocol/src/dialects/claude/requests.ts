import { z } from "zod";
import { Line, Tags } from "../../agent.ts";
import { JsonObject } from "../../content.ts";
import { Uuid } from "../../ids.ts";
import { ClaudeModel, ClaudeOptions, PermissionMode, RunOptions } from "./options.ts";

/**
 * The requests of `/api/v1`, in the Claude API's names, limits and defaults. Fields that are not in the specification
 * come last in each schema.
 */

const Prompt = z.string().min(1).max(100_000);

/** An image that goes with a prompt: its bytes in base64, or its address. */
export const ImageContent = z.strictObject({
  type: z.enum(["base64", "url"]).default("base64"),
  media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
  data: z.string().min(1),
});
export type ImageContent = z.infer<typeof ImageContent>;

const spoken = { prompt: Prompt, images: z.array(ImageContent).max(100).nullish() };

/**
 * Ends the run when the client that requested it disconnects. Otherwise the run continues and can be followed again.
 */
const leaving = { stop_on_disconnect: z.boolean().default(false) };

/**
 * What happens to a prompt while a run is in progress: it is rejected (the default over HTTP), queued, or replaces the
 * run (the default over the socket). A queued or replacing prompt does not answer a question.
 */
const busy = { when_running: z.enum(["reject", "queue", "replace"]).nullish() };

/** Metadata keys are plain words, so that sessions can be found by them. */
const Metadata = z.record(
  z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "Expected letters, digits, _, . or -."),
  z.unknown(),
);

/** Labels by which a session can be found. */
const labels = { tags: Tags.nullish(), metadata: Metadata.nullish() };

export const QueryRequest = z
  .strictObject({
    ...spoken,
    session_id: Uuid.nullish(),
    fork_session: z.boolean().default(false),
    continue_conversation: z.boolean().default(false),
    ...ClaudeOptions.shape,
    ...leaving,
    ...busy,
    title: Line.max(255).nullish(),
    ...labels,
  })
  .superRefine((request, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    const { session_id, fork_session, continue_conversation } = request;
    if (session_id && continue_conversation)
      refuse("continue_conversation", "Give session_id or continue_conversation, not both.");
    if (fork_session && !session_id && !continue_conversation)
      refuse("fork_session", "A fork needs session_id or continue_conversation: which session is forked?");
    refuseBothLists(request, refuse);
  });
export type QueryRequest = z.output<typeof QueryRequest>;

const changes = z.object(RunOptions.shape);

export const ResumeRequest = z
  .strictObject({ ...spoken, ...changes.shape, ...leaving, ...busy, ...labels, user: ClaudeOptions.shape.user })
  .superRefine((request, context) =>
    refuseBothLists(request, (path, message) => context.addIssue({ code: "custom", path: [path], message })),
  );
export type ResumeRequest = z.output<typeof ResumeRequest>;

/** Fields that are not given are inherited from the parent. */
export const ForkRequest = z
  .strictObject({
    ...spoken,
    ...changes.shape,
    ...leaving,
    /** The last message that the fork keeps. Default: the last one of the parent. */
    message_id: Uuid.nullish(),
    title: Line.max(255).nullish(),
    ...labels,
    user: ClaudeOptions.shape.user,
  })
  .superRefine((request, context) =>
    refuseBothLists(request, (path, message) => context.addIssue({ code: "custom", path: [path], message })),
  );
export type ForkRequest = z.output<typeof ForkRequest>;

/** An answer to a question or to a request for permission: text, or the input for the tool. */
const Answer = z.union([z.string().min(1).max(100_000), JsonObject], {
  error: "Expected 1 to 100,000 characters, or an object.",
});

export const AnswerRequest = z.strictObject({
  answer: Answer,
  /** The question that is answered. Required if several are open. */
  tool_use_id: z.string().min(1).max(200).nullish(),
});

/** Changes the session's permission mode or model, also during a run. Other types get the answer `unknown_type`. */
export const ControlRequest = z.strictObject({
  type: z.string().min(1).max(100),
  permission_mode: PermissionMode.nullish(),
  model: ClaudeModel.nullish(),
});

export const RewindRequest = z.strictObject({
  /** The id of a checkpoint, or of the user message at which the checkpoint was made. */
  checkpoint_id: z.string().min(1).max(100),
  /** Returns what would change, and changes nothing. */
  dry_run: z.boolean().default(false),
});

export const TagsRequest = z.strictObject({ tags: Tags });

const Page = z.coerce.number().int().min(1);

export const SessionListQuery = z.strictObject({
  status: z.enum(["active", "completed", "error"]).optional(),
  /** Sessions that have all of these tags. */
  tags: z.preprocess((value) => (typeof value === "string" ? [value] : value), Tags).optional(),
  /** Text in the title. */
  search: z.string().min(1).max(200).optional(),
  user: Line.max(255).optional(),
  /** `key:value` pairs that the session's metadata has. */
  metadata: z
    .preprocess(
      (value) => (typeof value === "string" ? [value] : value),
      z
        .array(
          z
            .string()
            .regex(/^[A-Za-z0-9_.-]{1,64}:/, "Expected key:value.")
            .max(500),
        )
        .max(20),
    )
    .optional(),
  parent_session_id: Uuid.optional(),
  page: Page.max(100_000).default(1),
  page_size: Page.max(100).default(50),
});
export type SessionListQuery = z.output<typeof SessionListQuery>;

/** What a client may send over `/api/v1/query/ws`, each as one text message of JSON. */
export const ClaudeSocketMessage = z.discriminatedUnion("type", [
  z
    .strictObject({
      type: z.literal("prompt"),
      ...QueryRequest.shape,
      /** Both names are accepted: the specification says `content`, the system that it describes says `prompt`. */
      prompt: Prompt.optional(),
      content: Prompt.optional(),
    })
    .superRefine(({ prompt, content }, context) => {
      if ((prompt === undefined) === (content === undefined))
        context.addIssue({ code: "custom", path: ["prompt"], message: "Expected either prompt or content." });
    }),
  /**
   * Follows the run in progress, or the last run of the session; with `last_event_id` only the events after that event.
   */
  z.strictObject({
    type: z.literal("attach"),
    session_id: Uuid.nullish(),
    last_event_id: z.string().min(1).max(100).nullish(),
  }),
  z.strictObject({ type: z.literal("interrupt"), session_id: Uuid.nullish() }),
  z.strictObject({ type: z.literal("answer"), ...AnswerRequest.shape, session_id: Uuid.nullish() }),
  z.strictObject({
    type: z.literal("control"),
    permission_mode: PermissionMode.nullish(),
    model: ClaudeModel.nullish(),
    session_id: Uuid.nullish(),
  }),
]);
export type ClaudeSocketMessage = z.output<typeof ClaudeSocketMessage>;

interface Lists {
  readonly allowed_tools?: readonly string[] | null | undefined;
  readonly disallowed_tools?: readonly string[] | null | undefined;
}

function refuseBothLists(
  { allowed_tools, disallowed_tools }: Lists,
  refuse: (path: string, message: string) => void,
): void {
  const both = allowed_tools?.find((name) => disallowed_tools?.includes(name));
  if (both !== undefined) refuse("disallowed_tools", `${both} is both allowed and disallowed.`);
}
