import type { Handlers } from "../../request-context.ts";
import { ApiError } from "../../http/api-error.ts";
import { capsOfKey } from "./caps.ts";
import { historyRefusal } from "./history.ts";
import { mayAskHistory } from "./sql.ts";
import { cookieIn, loginCookie } from "../../http/login-cookie.ts";

/** Routes for logins of browsers, and for information about the caller. */
export const loginHandlers = {
  async login({ body }, { shared, request, reply }) {
    const { keys, logins, meter } = shared;
    const principal = await keys.recognise(body.key);
    if (!principal) {
      meter.wrongKey(request.ip);
      throw new ApiError("unauthorized", keys.problemWith(body.key));
    }
    reply.header("set-cookie", loginCookie(request.headers, await logins.begin(principal)));
    // The audit log shows that this key logged in.
    request.principal = principal;
    return undefined;
  },
  async logout(_, { shared, request, reply }) {
    const value = cookieIn(request.headers);
    if (value !== undefined) await shared.logins.end(value);
    reply.header("set-cookie", loginCookie(request.headers, ""));
    return undefined;
  },
  async getMe(_, call) {
    const { shared, principal } = call;
    const { description, sql, claude, history, console: files } = shared.deps;
    const refusal = historyRefusal(history, principal);
    const { version, store, model, simulated = false } = description;
    const reason = sql ? ((await sql.problem?.()) ?? null) : "This server was started without SQL.";
    return {
      key: {
        id: principal.keyId.slice(0, 12),
        name: principal.name,
        owner: principal.owner ?? null,
        expires_at: principal.expiresAt ?? null,
        scopes: [...principal.scopes],
      },
      tenant: principal.tenant,
      caps: await capsOfKey(call, principal.name),
      expires_at: principal.login?.expiresAt ?? null,
      server: {
        version,
        store,
        model: { name: model, simulated },
        sql: { available: reason === null, reason, history: sql?.hasHistory === true && mayAskHistory(principal) },
        history: {
          available: refusal === null,
          reason: refusal,
          roots: refusal === null ? [...(history?.roots ?? [])] : [],
        },
        claude_code: claude !== undefined,
        console: files !== undefined,
      },
    };
  },
} satisfies Partial<Handlers>;
