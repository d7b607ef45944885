/** Asks the registry whether the names of the packages are free. */
import { spawnSync } from "node:child_process";

/**
 * Returns a sentence about each name and a sentence about the scope, after asking the registry of npm's configuration.
 */
export function checkNames(names: readonly string[]): readonly string[] {
  const user = npm("whoami");
  const login = user.status === 0 ? user.stdout.trim() : undefined;
  return [...names.map((name) => aboutName(name, login)), aboutScope(login)];
}

function aboutName(name: string, login: string | undefined): string {
  const { status, stdout } = npm("view", name, "maintainers", "--json");
  if (status === 0) {
    const isOurs = login !== undefined && stdout.includes(`${login} <`);
    return isOurs ? `${name}: published before, by us (${login}).` : `${name}: TAKEN. Choose another name.`;
  }
  if (stdout.includes("E404")) return `${name}: the registry does not know it.`;
  return `${name}: the registry did not answer, so it is unknown whether the name is free.`;
}

function aboutScope(login: string | undefined): string {
  if (login === undefined)
    return "@skein: npm says only after a login whether the scope is ours. Log in (npm login), then run this again.";
  const { status } = npm("org", "ls", "skein", "--json");
  return status === 0
    ? `@skein: ${login} may see the members of the scope, so it is ours.`
    : `@skein: ${login} is not a member of the scope. Create it with npm, or choose another.`;
}

function npm(...args: readonly string[]): { readonly status: number | null; readonly stdout: string } {
  const { status, stdout, stderr } = spawnSync("npm", args, { encoding: "utf8", timeout: 60_000 });
  return { status, stdout: `${stdout}${stderr}` };
}
