import { describeList } from "./describe-list.ts";
import { agentTables } from "./agent-tables.ts";

describeList(agentTables);
