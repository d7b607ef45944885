import { describeSeed } from "./describe-seed.ts";
import { seed004 } from "./seed-004.ts";

describeSeed(seed004);
