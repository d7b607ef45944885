/**
 * Exports tokens and cost as `@skein/history/usage`, also of other agents and of the archive. It loads nothing else, so
 * commands that use it start fast.
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
