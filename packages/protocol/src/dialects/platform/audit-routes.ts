import { z } from "zod";
import { AuditEntry } from "./audit-shapes.ts";
import { PageQuery, pageOf } from "./page.ts";
import type { Route } from "./route.ts";

export const auditRoutes = {
  listAudit: {
    method: "GET",
    path: "/v1/audit",
    scope: "admin",
    summary: "List the audit log of this tenant, newest first",
    query: PageQuery.extend({
      action: z.string().min(1).max(50).optional(),
      outcome: z.enum(["done", "refused", "failed"]).optional(),
      actor: z.string().min(1).max(100).optional(),
      since: z.iso.datetime({ offset: true }).optional(),
      until: z.iso.datetime({ offset: true }).optional(),
    }),
    status: 200,
    response: pageOf(AuditEntry),
  },
} as const satisfies Record<string, Route>;
