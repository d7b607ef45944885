import { z } from "zod";
import { LlmModel } from "../../agent.ts";
import { ModelSettings } from "../../model-settings.ts";

const PLAIN_KEY = /^[\x21-\x7e]{1,2000}$/;

/** Whether a key is JSON, like the key of a service account in Google's cloud. */
export function isJsonKey(key: string): boolean {
  try {
    const value: unknown = JSON.parse(key);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** A model to add. If the model exists, `settings` replace its settings; without `settings`, it is not changed. */
export const ModelInput = z.strictObject({
  name: LlmModel.shape.name,
  is_default: z.boolean().default(false),
  settings: ModelSettings.optional(),
  /**
   * The key of the model's provider. The key is stored encrypted, sent only to the model's address, and never shown.
   */
  key: z
    .string()
    .max(8000)
    .refine(
      (key) => PLAIN_KEY.test(key) || isJsonKey(key),
      "Expected a key of 1 to 2000 printable characters without spaces, or the JSON of a service account's key.",
    )
    .optional(),
});

/** A model of the list. Admins also see its settings. */
export const ApiModel = LlmModel.extend({
  /** Null if the model has no settings, and for callers who are not admins. */
  settings: ModelSettings.nullable(),
  /**
   * Where the model's key is: in the store, or in an environment variable of the server. Null in the same cases as
   * `settings`.
   */
  key: z.enum(["stored", "environment", "none"]).nullable(),
});
export type ApiModel = z.infer<typeof ApiModel>;

/** The result of one small call that tests an ability of a model. */
export const ModelTrial = z.object({
  ability: z.enum(["text", "tools", "parallel_tools", "images", "pdf", "thinking", "output", "caching"]),
  /** `turned off`: the model's settings say that it lacks the ability. `not tried`: the model does not answer at all. */
  outcome: z.enum(["works", "fails", "turned off", "not tried"]),
  ms: z.int().nonnegative(),
  /** What the model answered, or what went wrong. */
  detail: z.string(),
});
export type ModelTrial = z.infer<typeof ModelTrial>;
