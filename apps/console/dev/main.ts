/** `npm run console` serves the built console with example sessions, on loopback, until Ctrl-C. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seed } from "./seed.ts";

const data = mkdtempSync(join(tmpdir(), "skein-console-"));
const world = await seed({ data, port: Number(process.env["PORT"] ?? 0) });
process.stdout.write(`${world.platform.url}/#key=${world.platform.key}\n`);
process.stdout.write(`main ${world.main}\nforked ${world.forked}\nlong ${world.long}\n`);
await new Promise<void>((resolve) => {
  process.once("SIGINT", () => resolve());
  process.once("SIGTERM", () => resolve());
});
await world.close();
rmSync(data, { recursive: true, force: true });
