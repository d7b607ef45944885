import { cacheFolder, type LibraryConfig } from "../config.ts";
import type { FacetStore } from "./facet.ts";
import { openFacetStore } from "./sqlite-facet-store.ts";

/** Opens the index, runs `work`, and closes the index. */
export async function withStore<T>(config: LibraryConfig, work: (store: FacetStore) => Promise<T>): Promise<T> {
  const store = openFacetStore(cacheFolder(config));
  try {
    return await work(store);
  } finally {
    store.close();
  }
}
