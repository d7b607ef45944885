import { describeSeed } from "./describe-seed.ts";
import { seed003 } from "./seed-003.ts";

describeSeed(seed003);
