/** `npm run seeds`: prints docs/seeds.md from the conformance lists. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { printSeeds } from "../packages/skein/test/conformance/print-seeds.ts";
import { SEEDS } from "../packages/skein/test/conformance/seeds.ts";

writeFileSync(fileURLToPath(new URL("../docs/seeds.md", import.meta.url)), printSeeds(SEEDS));
