import { z } from "zod";
import { LlmModel } from "../../agent.ts";
import { ModelSettings } from "../../model-settings.ts";

/** A model to add. `settings` replace existing ones; without them an existing model is not changed. */
export const ModelInput = z.strictObject({
  name: LlmModel.shape.name,
  is_default: z.boolean().default(false),
  settings: ModelSettings.optional(),
  /** The key of its provider. The key is stored encrypted, sent only to the model's address, and never shown. */
  key: z
    .string()
    .regex(/^[\x21-\x7e]{1,2000}$/, "Expected a key of printable characters without spaces.")
    .optional(),
});

/** A model of the list. Admins also see its settings. */
export const ApiModel = LlmModel.extend({
  /** Null where the model has none, and for callers who are not admins. */
  settings: ModelSettings.nullable(),
  /**
   * Where its key is: in the store, or in an environment variable of the server. Null in the same cases as `settings`.
   */
  key: z.enum(["stored", "environment", "none"]).nullable(),
});
export type ApiModel = z.infer<typeof ApiModel>;

/** The result of one small call that tests an ability of a model. */
export const ModelTrial = z.object({
  ability: z.enum(["text", "tools", "images", "thinking"]),
  outcome: z.enum(["works", "fails", "not said to have it"]),
  ms: z.int().nonnegative(),
  /** What the model answered, or what went wrong. */
  detail: z.string(),
});
export type ModelTrial = z.infer<typeof ModelTrial>;
