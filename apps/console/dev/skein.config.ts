import { createAgents } from "./agents.ts";
import { OUTPUTS } from "./stories/index.ts";

/** What the platform of development serves. */
export default {
  agents: createAgents(OUTPUTS),
  policy: {
    keys: { SKEIN_API_KEY: { concurrentRuns: 60, spendPerDayUsd: 40 } },
    tenants: { default: { spendPerDayUsd: 100 } },
  },
};
