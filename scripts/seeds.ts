/** `npm run seeds`: prints docs/seeds.md from the conformance lists, and the tables of PROTOCOL.md from the schemas. */
import { readFileSync, writeFileSync } from "node:fs";
import { printSeeds } from "../packages/skein/test/conformance/print-seeds.ts";
import { SEEDS } from "../packages/skein/test/conformance/seeds.ts";
import { withTables } from "./protocol-tables.ts";

const file = (path: string): URL => new URL(`../${path}`, import.meta.url);
writeFileSync(file("docs/seeds.md"), printSeeds(SEEDS));
writeFileSync(file("PROTOCOL.md"), withTables(readFileSync(file("PROTOCOL.md"), "utf8")));
