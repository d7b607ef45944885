import { z } from "zod";

/** A cap that the operator set, and its current use. A limit that the cap does not have is null. */
export const ApiCap = z.object({
  of: z.enum(["key", "agent", "tenant"]),
  name: z.string(),
  runs: z
    .object({
      /** The most runs in progress at the same time. */
      limit: z.number(),
      under_way: z.number(),
      waiting: z.number(),
    })
    .nullable(),
  /** Dollars of one day (UTC). */
  spend: z
    .object({
      limit_usd: z.number(),
      spent_usd: z.number(),
      /** Reserved for calls in progress. */
      reserved_usd: z.number(),
      /** The percentage of the limit at which people are asked; null if nobody is asked. */
      ask_at_percent: z.number().nullable(),
      /** Whether people were asked today, and allowed spending up to the whole limit. */
      is_allowed: z.boolean(),
      resets_at: z.iso.datetime(),
    })
    .nullable(),
});
export type ApiCap = z.infer<typeof ApiCap>;
