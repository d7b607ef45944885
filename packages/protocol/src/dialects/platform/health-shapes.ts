import { z } from "zod";

export const Health = z.object({
  status: z.enum(["ok", "degraded", "unhealthy"]),
  version: z.string(),
  /**
   * The parts that do not work; shown to everyone. If the store is one of them, the server cannot serve requests and the
   * status is 503.
   */
  failing: z.array(z.string()),
  /** Only for callers with a key. */
  dependencies: z
    .array(z.object({ name: z.string(), status: z.enum(["ok", "failed"]), latency_ms: z.number(), detail: z.string() }))
    .optional(),
});
