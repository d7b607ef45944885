/** Lists the third-party packages in the built console, because the console must be shipped with their licences. */
import { join } from "node:path";
import { type Plugin, build } from "vite";

/** Returns the folders of the packages in the build, sorted by name. */
export async function bundledPackages(): Promise<readonly string[]> {
  const folders = new Set<string>();
  const collect: Plugin = {
    name: "collect-packages",
    generateBundle() {
      for (const id of this.getModuleIds()) {
        const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id.replace(/^\0/, ""))?.[0];
        if (folder !== undefined) folders.add(folder);
      }
    },
  };
  await build({
    configFile: join(import.meta.dirname, "../vite.config.ts"),
    logLevel: "silent",
    build: { write: false },
    plugins: [collect],
  });
  return [...folders].toSorted();
}
