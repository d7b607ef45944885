/**
 * `npm run conformance`: writes docs/reference/conformance.md from the conformance lists, and the tables of PROTOCOL.md
 * from the schemas.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { printConformance } from "../packages/skein/test/conformance/print-conformance.ts";
import { LISTS } from "../packages/skein/test/conformance/lists.ts";
import { withTables } from "./protocol-tables.ts";

const file = (path: string): URL => new URL(`../${path}`, import.meta.url);
writeFileSync(file("docs/reference/conformance.md"), printConformance(LISTS));
writeFileSync(file("PROTOCOL.md"), withTables(readFileSync(file("PROTOCOL.md"), "utf8")));
