/**
 * CHANGELOG.md lists changes for users. Unreleased changes come first, then the versions from the newest to the oldest.
 */

const UNRELEASED = "## Unreleased";

/** Returns the text of the section of unreleased changes. */
export function unreleased(changelog: string): string {
  const [, after] = changelog.split(`${UNRELEASED}\n`);
  if (after === undefined) throw new Error(`CHANGELOG.md has no section "${UNRELEASED}".`);
  return (after.split(/^## /m)[0] ?? "").trim();
}

/**
 * Returns the changelog after a release. The section of unreleased changes gets the version and the date, and a new,
 * empty section is added above it.
 */
export function releaseChangelog(changelog: string, version: string, day: string): string {
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    throw new Error(`"${version}" is not a version. Expected for example 0.1.0 or 1.0.0-beta.1.`);
  if (new RegExp(`^## ${version.replaceAll(".", String.raw`\.`)}(?: |$)`, "m").test(changelog))
    throw new Error(`CHANGELOG.md already has the version ${version}.`);
  if (unreleased(changelog) === "")
    throw new Error(`The section "${UNRELEASED}" of CHANGELOG.md is empty: write down what changes for users.`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## ${version} (${day})`);
}
