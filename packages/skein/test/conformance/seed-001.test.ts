import { describeSeed } from "./describe-seed.ts";
import { seed001 } from "./seed-001.ts";

describeSeed(seed001);
