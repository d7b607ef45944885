import { describeList } from "./describe-list.ts";
import { history } from "./history.ts";

describeList(history);
