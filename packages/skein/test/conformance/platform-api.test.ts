import { describeList } from "./describe-list.ts";
import { platformApi } from "./platform-api.ts";

describeList(platformApi);
