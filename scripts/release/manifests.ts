/** The package.json of a package as it is published: shared fields come from the root. */
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
 * The version of the packages in the repository, a placeholder. The real version is in the package.json of the root.
 */
const IN_TREE = "0.0.0";

/** The condition under which the workspace reads its sources, which are not packed. */
const SOURCE = "@skein/source";

/** The package.json for publication. All packages have one version, and depend on each other in exactly this version. */
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

/** Whether the repository's address is set. In the tree it is a placeholder (OWNER) until the repository is public. */
export function hasHome({ repository }: Manifest): boolean {
  return repository !== undefined && !repository.url.includes("/OWNER/");
}
