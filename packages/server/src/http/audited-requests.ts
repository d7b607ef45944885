import { type RouteName, withoutSecrets } from "@skein/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { OPERATOR } from "../keys.ts";
import type { ServerContext } from "../request-context.ts";

/** Requests that are always in the audit log, with the name of their action. */
const AUDITED: Partial<Record<RouteName, string>> = {
  createKey: "key.create",
  rotateKey: "key.rotate",
  revokeKey: "key.revoke",
  login: "login",
  createAgent: "agent.create",
  patchAgent: "agent.change",
  archiveAgent: "agent.archive",
  restoreAgent: "agent.restore",
  addModel: "model.add",
  testModel: "model.test",
  removeModel: "model.remove",
  createWebhook: "webhook.create",
  patchWebhook: "webhook.change",
  deleteWebhook: "webhook.delete",
  deleteSession: "session.delete",
  deleteClaudeSession: "session.delete",
  exportSession: "session.export",
  exportClaudeSession: "session.export",
  exportHistorySession: "session.export",
  retryParked: "session.retry",
  discardParked: "session.discard",
  importSession: "session.import",
  adoptClaudeSession: "session.adopt",
  adoptHistorySession: "session.adopt",
  answerAwait: "await.answer",
  answerClaudeSession: "await.answer",
};

declare module "fastify" {
  interface FastifyRequest {
    /** Why the request was rejected or failed. */
    problem: { readonly code: string; readonly message: string } | undefined;
  }
}

/** Codes of rejections by the operator's rules or the sandbox. They are recorded in the audit log on every route. */
export const REFUSED: ReadonlySet<string> = new Set(["not_allowed", "arg_not_allowed", "forbidden", "sandbox_missing"]);

/**
 * Writes the audit log. An entry is written before its request is answered, so that a crash cannot lose the entry of an
 * answered request. If the entry cannot be stored, `report` gets the error, and the answer is still sent, because the
 * work is done.
 */
export function auditRequests(
  app: FastifyInstance,
  { audit, now }: ServerContext,
  report: (error: unknown) => void,
): void {
  app.decorateRequest("problem", undefined);
  let wrongKeyMinute = -1;
  app.addHook("onSend", async (request, reply, payload) => {
    const { route } = request.routeOptions.config;
    const { problem, principal } = request;
    const isRefused = problem !== undefined && REFUSED.has(problem.code);
    const action = (route && AUDITED[route]) ?? (isRefused ? `refused:${route ?? "unknown"}` : undefined);
    const entry = {
      address: request.ip,
      request_id: request.id,
      detail: problem ? withoutSecrets(problem.message) : null,
    };
    try {
      if (principal && action !== undefined)
        await audit.append(principal.tenant, {
          ...entry,
          action,
          target: targetOf(request) ?? madeIn(payload),
          outcome: reply.statusCode < 400 ? "done" : reply.statusCode < 500 ? "refused" : "failed",
          actor: principal.name,
          key_id: principal.keyId.slice(0, 12),
        });
      // Anybody can send wrong keys, so at most one entry per minute is written. A wrong key belongs to no tenant, so
      // the entry is in the operator's log.
      const minute = Math.floor(now() / 60_000);
      if (!principal && problem?.code === "unauthorized" && sentKey(request) && minute !== wrongKeyMinute) {
        wrongKeyMinute = minute;
        await audit.append(OPERATOR, { ...entry, action: "key.wrong", outcome: "refused" });
      }
    } catch (error) {
      report(error);
    }
  });
}

function sentKey({ headers }: FastifyRequest): boolean {
  return headers["x-api-key"] !== undefined || headers.authorization !== undefined;
}

/**
 * Returns the target of a request: the last resource in its path, or else the `name` or the host of the `url` in its
 * body.
 */
function targetOf({ params, body }: FastifyRequest): string | null {
  const named = Object.values((params ?? {}) as Record<string, string>).at(-1);
  if (named !== undefined) return named.slice(0, 100);
  const { name, url } = (body ?? {}) as { readonly name?: unknown; readonly url?: unknown };
  if (typeof name === "string") return name.slice(0, 100);
  // Only the host is recorded, because the rest of the address may contain a secret.
  return typeof url === "string" ? (URL.parse(url)?.host ?? null) : null;
}

/** The id of the session that an import or an adoption has made. */
function madeIn(payload: unknown): string | null {
  return typeof payload === "string" ? (/^\{"(?:session_)?id":"([\w-]{1,100})"/.exec(payload)?.[1] ?? null) : null;
}
