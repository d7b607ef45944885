import { describeList } from "./describe-list.ts";
import { sql } from "./sql.ts";

describeList(sql);
