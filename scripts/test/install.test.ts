/** Tests what `npm install` installs in a clone and for users of the packages. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

function json(path: string): unknown {
  return JSON.parse(readFileSync(`${root}/${path}`, "utf8"));
}

interface Locked {
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

test("a package that is for one system only is optional, so that npm install works on other systems", () => {
  const { packages } = json("package-lock.json") as { readonly packages: Readonly<Record<string, Locked>> };
  const mandatory = Object.entries(packages)
    .filter(([, { os, cpu, optional, devOptional }]) => (os ?? cpu) && !optional && !devOptional)
    .map(([path]) => path);
  expect(mandatory).toEqual([]);
});

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const manifests = readdirSync(`${root}/packages`).map((folder) => json(`packages/${folder}/package.json`) as Manifest);

test.each(manifests)(
  "the dependencies of $name are version ranges, and zod is a peer dependency except in @skein/cli",
  ({ name, ...manifest }) => {
    const { dependencies = {}, peerDependencies = {} } = manifest;
    const pinned = Object.entries(dependencies).filter(
      ([other, range]) => !/^(@skein\/|skein$)/.test(other) && !range.startsWith("^"),
    );
    expect(pinned).toEqual([]);
    const zod = name === "@skein/cli" ? dependencies["zod"] : (peerDependencies["zod"] ?? "^4");
    expect(zod).toBe("^4");
    if (name !== "@skein/cli") expect(dependencies).not.toHaveProperty("zod");
  },
);
