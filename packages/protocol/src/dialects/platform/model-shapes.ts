import { z } from "zod";
import { LlmModel } from "../../agent.ts";
import { ModelSettings } from "../../model-settings.ts";

const PLAIN_KEY = /^[\x21-\x7e]{1,2000}$/;

/** Tells whether a key is JSON. Google's service accounts have such keys. */
export function isJsonKey(key: string): boolean {
  try {
    const value: unknown = JSON.parse(key);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** A model to add or change. Without `settings`, an existing model keeps its settings. */
export const ModelInput = z.strictObject({
  name: LlmModel.shape.name,
  is_default: z.boolean().default(false),
  settings: ModelSettings.optional(),
  /**
   * The key of the model's provider. The store has it encrypted. It is sent only to the model's address.
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

/** A model in the model list. */
export const ApiModel = LlmModel.extend({
  /** Null if the model has no settings, or if the caller is not an admin. */
  settings: ModelSettings.nullable(),
  /**
   * The place of the model's key: the store, or an environment variable of the server. Null if `settings` is null.
   */
  key: z.enum(["stored", "environment", "none"]).nullable(),
});
export type ApiModel = z.infer<typeof ApiModel>;

/** The result of a small model call that tests one ability. */
export const ModelTrial = z.object({
  ability: z.enum(["text", "tools", "parallel_tools", "images", "pdf", "thinking", "output", "caching"]),
  /**
   * `turned off`: according to its settings, the model does not have the ability. `not tried`: the model does not
   * answer.
   */
  outcome: z.enum(["works", "fails", "turned off", "not tried"]),
  ms: z.int().nonnegative(),
  /** The model's answer, or the error. */
  detail: z.string(),
});
export type ModelTrial = z.infer<typeof ModelTrial>;
