import type { Seed } from "./line.ts";
import { seed000 } from "./seed-000.ts";
import { seed001 } from "./seed-001.ts";
import { seed002 } from "./seed-002.ts";
import { seed003 } from "./seed-003.ts";
import { seed004 } from "./seed-004.ts";

export const SEEDS: readonly Seed[] = [seed000, seed001, seed002, seed003, seed004];
