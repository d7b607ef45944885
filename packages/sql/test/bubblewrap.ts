import { spawnSync } from "node:child_process";

/** Whether bubblewrap works on this machine. If it works, the tests of the sandbox run and fail with a broken sandbox. */
export const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
