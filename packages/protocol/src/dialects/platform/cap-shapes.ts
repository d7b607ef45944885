import { z } from "zod";

/**
 * A cap, which is a limit that the operator set, and its current use. `runs` or `spend` is null if the cap does not
 * limit it.
 */
export const ApiCap = z.object({
  of: z.enum(["key", "agent", "tenant"]),
  name: z.string(),
  runs: z
    .object({
      /** The largest allowed number of runs in progress at the same time. */
      limit: z.number(),
      under_way: z.number(),
      waiting: z.number(),
    })
    .nullable(),
  /** Spending per day (UTC), in dollars. */
  spend: z
    .object({
      limit_usd: z.number(),
      spent_usd: z.number(),
      /** The amount that is reserved for calls in progress. */
      reserved_usd: z.number(),
      /** At this percentage of the limit, a person must approve further spending. Null if no approval is needed. */
      ask_at_percent: z.number().nullable(),
      /** True if a person has approved spending up to the whole limit today. */
      is_allowed: z.boolean(),
      resets_at: z.iso.datetime(),
    })
    .nullable(),
});
export type ApiCap = z.infer<typeof ApiCap>;
