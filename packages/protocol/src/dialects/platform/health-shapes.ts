import { z } from "zod";

export const Health = z.object({
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  /** Only with a key. */
  dependencies: z
    .array(z.object({ name: z.string(), status: z.enum(["ok", "failed"]), latency_ms: z.number(), detail: z.string() }))
    .optional(),
});
