import { spawnSync } from "node:child_process";

/** Whether this machine lets bubblewrap work at all. Where it does, a sandbox that does not work is a failure. */
export const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
