/** `npm run notices`: writes THIRD-PARTY-NOTICES.md. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { thirdPartyNotices } from "./notices/third-party-notices.ts";

const file = fileURLToPath(new URL("../THIRD-PARTY-NOTICES.md", import.meta.url));
writeFileSync(file, await thirdPartyNotices());
console.log(`ok  written: ${file}`);
