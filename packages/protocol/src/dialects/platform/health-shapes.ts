import { z } from "zod";

export const Health = z.object({
  status: z.enum(["ok", "degraded", "unhealthy"]),
  version: z.string(),
  /**
   * Names of dependencies that do not work. All callers see this list. If the list contains the store, the server
   * cannot serve requests and the HTTP status is 503.
   */
  failing: z.array(z.string()),
  /** Only callers with an API key see this list. */
  dependencies: z
    .array(z.object({ name: z.string(), status: z.enum(["ok", "failed"]), latency_ms: z.number(), detail: z.string() }))
    .optional(),
});
