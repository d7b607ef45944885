import { expiredSessions } from "@skein/core";
import { isKnownError } from "@skein/protocol";
import { z } from "zod";
import { deleteSession } from "./delete-session.ts";
import type { RetentionDays } from "./deps.ts";
import type { ServerContext } from "./request-context.ts";

/** Deletes sessions whose last event is older than their tenant's retention, a number of days. */
export interface Retention {
  /**
   * Deletes the sessions that are too old, and returns their number. Does nothing if a server on this store did so
   * within the last hour.
   */
  pass(): Promise<number>;
}

const EVERY_MS = 3600 * 1000;
const DAY_MS = 24 * EVERY_MS;
const MARK = { tenant: "$retention", kind: "pass", id: "last" } as const;
const Mark = z.object({ at: z.iso.datetime() });

/**
 * Sessions that run or wait are never deleted. The server's log gets a line for each deleted session and for each
 * tenant. With these lines the operator can show what was removed, when, and by which rule.
 */
export function createRetention(shared: ServerContext, days: RetentionDays): Retention {
  const { deps, keys, now } = shared;
  const { log = () => {} } = deps;

  /** Whether this process deletes sessions in this hour. Among several servers, only one deletes sessions. */
  async function isMine(): Promise<boolean> {
    const { records } = deps.store;
    const last = await records.get(MARK.tenant, MARK.kind, MARK.id);
    const at = Date.parse(Mark.safeParse(last?.value).data?.at ?? "");
    // A mark far in the future comes from a server with a wrong clock, and is ignored.
    if (Math.abs(now() - at) < EVERY_MS) return false;
    try {
      await records.put([{ ...MARK, value: { at: new Date(now()).toISOString() }, expect: last?.version ?? 0 }]);
      return true;
    } catch (error) {
      if (isKnownError(error, "conflict")) return false;
      throw error;
    }
  }

  async function tenants(): Promise<ReadonlySet<string>> {
    const named = Object.keys(days).filter((tenant) => tenant !== "*");
    const others = days["*"] === undefined ? [] : ["default", ...(await keys.list()).map(({ tenant }) => tenant)];
    return new Set([...named, ...others]);
  }

  async function passOf(tenant: string, keptDays: number): Promise<number> {
    const before = new Date(now() - keptDays * DAY_MS).toISOString();
    const { sessions, agents, models } = shared.viewOf({ tenant, scopes: ["admin"] });
    const principal = { keyId: "retention", name: "retention", tenant, scopes: [] };
    let removed = 0;
    for await (const { id, updated_at } of expiredSessions(deps.store, { tenant, before })) {
      if (shared.stopping.aborted) break;
      try {
        await deleteSession({ shared, sessions, agents, models, principal, idempotency: undefined }, id);
      } catch (error) {
        if (isKnownError(error, "not_found")) continue;
        throw error;
      }
      removed += 1;
      log({
        level: "info",
        event: "session.removed",
        reason: "retention",
        tenant,
        session_id: id,
        last_event_at: updated_at,
      });
    }
    log({ level: "info", event: "retention.pass", tenant, kept_days: keptDays, removed });
    return removed;
  }

  return {
    async pass() {
      if (Object.keys(days).length === 0 || !(await isMine())) return 0;
      let removed = 0;
      for (const tenant of await tenants()) {
        const keptDays = days[tenant] ?? days["*"];
        if (keptDays !== undefined) removed += await passOf(tenant, keptDays);
      }
      return removed;
    },
  };
}
