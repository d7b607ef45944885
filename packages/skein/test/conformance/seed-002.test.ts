import { describeSeed } from "./describe-seed.ts";
import { seed002 } from "./seed-002.ts";

describeSeed(seed002);
