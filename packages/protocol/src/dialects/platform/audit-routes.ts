import { z } from "zod";
import { PageQuery, pageOf } from "./page.ts";
import type { Route } from "./route.ts";

/** Who did what, when, from where, and with which result. */
const ApiAuditEntry = z.object({
  id: z.string(),
  created_at: z.iso.datetime(),
  action: z.string(),
  target: z.string().nullable(),
  outcome: z.enum(["done", "refused", "failed"]),
  /** The name of the key; `operator` for a command on the server's machine, null for a caller without a valid key. */
  actor: z.string().nullable(),
  key_id: z.string().nullable(),
  address: z.string().nullable(),
  request_id: z.string().nullable(),
  detail: z.string().nullable(),
});

export const auditRoutes = {
  listAudit: {
    method: "GET",
    path: "/v1/audit",
    scope: "admin",
    summary: "Who did what in this tenant, newest first",
    query: PageQuery.extend({
      action: z.string().min(1).max(50).optional(),
      outcome: z.enum(["done", "refused", "failed"]).optional(),
      actor: z.string().min(1).max(100).optional(),
      since: z.iso.datetime({ offset: true }).optional(),
      until: z.iso.datetime({ offset: true }).optional(),
    }),
    status: 200,
    response: pageOf(ApiAuditEntry),
  },
} as const satisfies Record<string, Route>;
