import { describeSeed } from "./describe-seed.ts";
import { seed000 } from "./seed-000.ts";

describeSeed(seed000);
