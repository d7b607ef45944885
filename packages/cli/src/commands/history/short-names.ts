/** Ids, paths and models as tables show them. */
import { homedir } from "node:os";

/** The shortest prefix of an id that is unique: ids of some agents begin with the kind or with the time. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5]/.test(id) ? id.slice(0, 8) : id.length <= 44 ? id : id.slice(0, 44);
}

/** The end of a path says more than its beginning. */
export function shortenPath(path: string, columns: number): string {
  const home = homedir();
  const short = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  return short.length <= columns || !Number.isFinite(columns) ? short : `…${short.slice(-(columns - 1))}`;
}

export function shortModel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}
