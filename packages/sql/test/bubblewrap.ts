import { spawnSync } from "node:child_process";

/** Whether bubblewrap works on this machine. If bubblewrap works, the tests of the sandbox must pass. */
export const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
