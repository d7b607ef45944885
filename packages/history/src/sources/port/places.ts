/** Finds the folders in which agents keep their data on this machine. */
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment, Places } from "./source.ts";

export function placesHere(env: Environment = process.env): Places {
  return { env, homes: [homedir(), ...windowsHomes(env)], platform: process.platform };
}

/** Returns the home folders of Windows under WSL, because agents that run on Windows have their data there. */
function windowsHomes(env: Environment): readonly string[] {
  if (!env["WSL_DISTRO_NAME"]) return [];
  const users = "/mnt/c/Users";
  try {
    return readdirSync(users, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^(Public|Default|All Users|Default User)$/i.test(entry.name))
      .map((entry) => join(users, entry.name));
  } catch {
    return [];
  }
}

/** Returns the data folder of a desktop application in every home folder. */
export function appData({ env, homes, platform }: Places, name: string): readonly string[] {
  return homes.flatMap((home) => {
    if (platform === "darwin") return [join(home, "Library", "Application Support", name)];
    const roaming = join(home, "AppData", "Roaming", name);
    if (platform === "win32") return [env["APPDATA"] ? join(env["APPDATA"], name) : roaming];
    if (home.startsWith("/mnt/")) return [roaming];
    return [join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), name)];
  });
}
