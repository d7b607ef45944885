/**
 * `@skein/history/usage`: tokens and cost of the sessions of all coding agents, and of archived sessions. Loads nothing
 * else, so that commands that use this module start fast.
 */
export {
  isDataNotFoundError,
  isNotRestorableError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
} from "../errors.ts";
export { isMigrateRefusedError, type MigrateErrorCode } from "../migrate/types.ts";
export { withArchive } from "../on-demand.ts";
export { withSources } from "../sources/with-sources.ts";
export { burnRateOf } from "./burn-rate.ts";
export { getUsage } from "./get-usage.ts";
export type { UsageReport, UsageTotals } from "./usage-report.ts";
