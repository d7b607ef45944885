import type { Outputs, Story } from "../story.ts";
import { exportOutputs, exportRunsTwice, runLockTests } from "./export-runs-twice.ts";
import { finished, finishedOutputs } from "./finished.ts";
import { longOutputs, upgradeDates } from "./long.ts";
import { past } from "./past.ts";
import { running } from "./running.ts";
import { waiting, waitingOutputs } from "./waiting.ts";

/** The weeks before today that have example sessions. */
const WEEKS = 20;

export const OUTPUTS: Outputs = { ...exportOutputs, ...finishedOutputs, ...longOutputs, ...waitingOutputs };
export const PAST: readonly Story[] = past(WEEKS);
export const FINISHED: readonly Story[] = [...finished, upgradeDates];
export const WAITING: readonly Story[] = waiting;
export const RUNNING: readonly Story[] = running;
export const SUBAGENTS: readonly Story[] = [runLockTests];
export { exportRunsTwice };
