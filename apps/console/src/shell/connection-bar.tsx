import type { UseQueryResult } from "@tanstack/react-query";
import type { Health } from "../api/api.ts";
import { duration } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { clockSeconds } from "../ui/times.ts";
import { useNow } from "../ui/use-now.ts";

/** A short failure is no news: a server that restarts is back within it. */
const PATIENCE_MS = 3000;

/** Says that the server cannot be reached, and from when the data on the page is. */
export function ConnectionBar({ health }: { health: UseQueryResult<Health> }) {
  const now = useNow(1000, health.isError);
  const since = health.dataUpdatedAt;
  if (!health.isError || now - since < PATIENCE_MS) {
    const failed = health.data?.dependencies?.filter(({ status }) => status === "failed") ?? [];
    if (failed.length === 0) return null;
    return (
      <div className="net" role="status">
        <Icon name="warn" small />
        <span>
          {failed.map(({ name, detail }) => `${name}: ${detail}`).join(" · ")}. Sessions can be read; new work may have
          to wait.
        </span>
      </div>
    );
  }
  return (
    <div className="net" role="status">
      <Icon name="clock" small />
      <span className="grow">
        {since === 0
          ? "The server cannot be reached."
          : `No connection for ${duration(now - since)}. What you see is from ${clockSeconds(since)}.`}
      </span>
      <button type="button" className="btn" onClick={() => void health.refetch()}>
        Try now
      </button>
    </div>
  );
}
