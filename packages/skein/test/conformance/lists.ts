import type { ConformanceList } from "./line.ts";
import { platformApi } from "./platform-api.ts";
import { claudeApi } from "./claude-api.ts";
import { agentTables } from "./agent-tables.ts";
import { history } from "./history.ts";
import { sql } from "./sql.ts";

/** The parts of Skein, each with the lines of the specification it came from. */
export const LISTS: readonly ConformanceList[] = [platformApi, claudeApi, agentTables, history, sql];
