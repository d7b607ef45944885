import { setTimeout as delay } from "node:timers/promises";
import type { Timers } from "@skein/core";

/** The timers of this process. */
export const timers: Timers = {
  async sleep(ms, signal) {
    await delay(ms, undefined, { signal }).catch(() => undefined);
  },
};
