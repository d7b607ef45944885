import { z } from "zod";
import { Line, Tags } from "../../agent.ts";
import { JsonObject } from "../../content.ts";
import { Uuid } from "../../ids.ts";
import { ClaudeModel, ClaudeOptions, PermissionMode, RunOptions } from "./options.ts";

/**
 * The requests of `/api/v1`, with the Claude API's names, limits and defaults. In each schema, fields that are not in
 * the specification come last.
 */

const Prompt = z.string().min(1).max(100_000);

/** An image of a prompt, as base64 or as a URL. */
export const ImageContent = z.strictObject({
  type: z.enum(["base64", "url"]).default("base64"),
  media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
  data: z.string().min(1),
});
export type ImageContent = z.infer<typeof ImageContent>;

const spoken = { prompt: Prompt, images: z.array(ImageContent).max(100).nullish() };

/**
 * If true, the run ends when the client of the request disconnects. If false, the run continues and clients can follow
 * it again.
 */
const leaving = { stop_on_disconnect: z.boolean().default(false) };

/**
 * Says what happens to a prompt while a run is in progress. Default: `reject` over HTTP, `replace` over the socket.
 * With `queue` or `replace`, the prompt does not answer an open question.
 */
const busy = { when_running: z.enum(["reject", "queue", "replace"]).nullish() };

/** Keys have only these characters, so that a list can be filtered by `key:value`. */
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

/** A fork inherits all fields that the request leaves out. */
export const ForkRequest = z
  .strictObject({
    ...spoken,
    ...changes.shape,
    ...leaving,
    /** The last message that the fork keeps. Default: the parent's last message. */
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
  /** The question to answer. Required if several questions are open. */
  tool_use_id: z.string().min(1).max(200).nullish(),
});

/**
 * Changes the session's permission mode or model, also during a run. For other types, the response has the status
 * `unknown_type`.
 */
export const ControlRequest = z.strictObject({
  type: z.string().min(1).max(100),
  permission_mode: PermissionMode.nullish(),
  model: ClaudeModel.nullish(),
});

export const RewindRequest = z.strictObject({
  /** The id of a checkpoint, or of the user message at which the checkpoint was made. */
  checkpoint_id: z.string().min(1).max(100),
  /** Only reports the changes that a rewind would make. */
  dry_run: z.boolean().default(false),
});

export const TagsRequest = z.strictObject({ tags: Tags });

const Page = z.coerce.number().int().min(1);

export const SessionListQuery = z.strictObject({
  status: z.enum(["active", "completed", "error"]).optional(),
  /** Finds sessions that have all of these tags. */
  tags: z.preprocess((value) => (typeof value === "string" ? [value] : value), Tags).optional(),
  /** Finds sessions with this text in the title. */
  search: z.string().min(1).max(200).optional(),
  user: Line.max(255).optional(),
  /** Finds sessions with these `key:value` pairs in the metadata. */
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

/** A message that a client may send over `/api/v1/query/ws`, as JSON text. */
export const ClaudeSocketMessage = z.discriminatedUnion("type", [
  z
    .strictObject({
      type: z.literal("prompt"),
      ...QueryRequest.shape,
      /** The specification has `content`. The system that the specification describes has `prompt`. */
      prompt: Prompt.optional(),
      content: Prompt.optional(),
    })
    .superRefine(({ prompt, content }, context) => {
      if ((prompt === undefined) === (content === undefined))
        context.addIssue({ code: "custom", path: ["prompt"], message: "Expected either prompt or content." });
    }),
  /**
   * Follows the run in progress, or the last run of the session. With `last_event_id`, only later events are sent.
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
