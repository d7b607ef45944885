import { spawnSync } from "node:child_process";

/** Whether bubblewrap works on this machine at all. If it does, a sandbox that does not work fails the tests. */
export const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
