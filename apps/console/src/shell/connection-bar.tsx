import type { UseQueryResult } from "@tanstack/react-query";
import type { Health } from "../api/api.ts";
import { useLostSince } from "../api/context.tsx";
import { clockAhead } from "../api/server-clock.ts";
import { duration } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { clockSeconds } from "../ui/times.ts";
import { useNow } from "../ui/use-now.ts";

/** The page reports an unreachable server only after this time, because a restart takes less. */
const PATIENCE_MS = 3000;

/**
 * The bar does not report sessions that no worker can run. The pages of these sessions and the Settings report them.
 */
const SAID_THERE: ReadonlySet<string> = new Set(["sessions"]);

/** Reports failed parts of the server. If the server cannot be reached, says how old the data on the page is. */
export function ConnectionBar({ health }: { health: UseQueryResult<Health> }) {
  const now = useNow(1000, health.isError);
  const lostAt = useLostSince() ?? health.dataUpdatedAt;
  const since = lostAt === 0 ? 0 : lostAt + clockAhead();
  if (!health.isError || now - since < PATIENCE_MS) {
    const failed =
      health.data?.dependencies?.filter(({ name, status }) => status === "failed" && !SAID_THERE.has(name)) ?? [];
    if (failed.length === 0) return <ClockNote />;
    return (
      <div className="net" role="status">
        <Icon name="warn" small />
        <span>
          {failed.map(({ name, detail }) => `${name}: ${detail}`).join(" ")}{" "}
          {failed.every(({ name }) => name !== "store") && "Sessions can be read; new work may have to wait."}
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

/** The page does not report smaller differences between the clocks. */
const WRONG_MS = 120_000;

/** A note that the clocks of this device and of the server differ. */
function ClockNote() {
  const ahead = clockAhead();
  if (Math.abs(ahead) < WRONG_MS) return null;
  return (
    <div className="net" role="status">
      <Icon name="clock" small />
      <span>
        The clock of this device is {duration(Math.abs(ahead))} {ahead > 0 ? "behind" : "ahead of"} the server’s. Times
        here are the server’s.
      </span>
    </div>
  );
}
