/** Makes the package.json that is published for a package. Shared fields come from the root. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly keywords?: readonly string[];
  readonly files?: readonly string[];
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/**
 * The packages in the repository have this placeholder as version. The real version is in the package.json of the root.
 */
const IN_TREE = "0.0.0";

/** The export condition for the sources, which are not published. */
const SOURCE = "@skein/source";

/** Returns the package.json to publish. All packages have the same version and depend on exactly this version. */
export function publishedManifest(own: Manifest, root: Manifest, directory: string): Manifest {
  const { devDependencies: _, ...manifest } = own;
  return {
    ...manifest,
    version: root.version,
    ...(root.license !== undefined && { license: root.license }),
    ...(root.repository && { repository: { ...root.repository, directory } }),
    ...(own.exports && { exports: withoutSources(own.exports) }),
    ...(own.dependencies && { dependencies: withVersion(own.dependencies, root.version) }),
    ...(own.peerDependencies && { peerDependencies: withVersion(own.peerDependencies, root.version) }),
  };
}

function withVersion(ranges: Readonly<Record<string, string>>, version: string): Record<string, string> {
  return Object.fromEntries(Object.entries(ranges).map(([name, range]) => [name, range === IN_TREE ? version : range]));
}

function withoutSources(exports: NonNullable<Manifest["exports"]>): NonNullable<Manifest["exports"]> {
  return Object.fromEntries(
    Object.entries(exports).map(([path, conditions]) => [
      path,
      Object.fromEntries(Object.entries(conditions).filter(([condition]) => condition !== SOURCE)),
    ]),
  );
}

/** Whether the repository's address is set. Until the repository is public, the address has the placeholder OWNER. */
export function hasHome({ repository }: Manifest): boolean {
  return repository !== undefined && !repository.url.includes("/OWNER/");
}
