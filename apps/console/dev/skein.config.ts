import { createAgents } from "./agents.ts";
import { OUTPUTS } from "./stories/index.ts";

/** The configuration of the development platform. */
export default {
  agents: createAgents(OUTPUTS),
  policy: {
    keys: { SKEIN_API_KEY: { concurrentRuns: 60, spendPerDayUsd: 40 } },
    tenants: { default: { spendPerDayUsd: 100 } },
  },
};
