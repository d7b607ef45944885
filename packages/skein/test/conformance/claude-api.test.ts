import { describeList } from "./describe-list.ts";
import { claudeApi } from "./claude-api.ts";

describeList(claudeApi);
