import type { ConformanceList } from "./line.ts";
import { platformApi } from "./platform-api.ts";
import { claudeApi } from "./claude-api.ts";
import { agentTables } from "./agent-tables.ts";
import { history } from "./history.ts";
import { sql } from "./sql.ts";

/** The conformance lists of the five parts of Skein. */
export const LISTS: readonly ConformanceList[] = [platformApi, claudeApi, agentTables, history, sql];
