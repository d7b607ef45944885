import { scriptedAgent } from "@skein/core/testing";

/** The agent of every session in the campaign: two tools, and patience with a model that goes away. */
export const agent = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active" as const,
  config: {
    ...scriptedAgent,
    model: "claude-sonnet-5-5",
    max_retries: 20,
    base_delay: 0.05,
    tool_schemas: ["act_once", "act_again"].map((name) => ({
      name,
      description: "Has an effect.",
      input_schema: { type: "object", properties: { n: { type: "number" } } },
    })),
  },
};

/** What a worker says when the session that it began by itself is there: the message of its prompt. */
export const begunLine = (messageId: string): string => `begun ${messageId}\n`;
export const begunIn = (said: string): string | undefined => /^begun (\S+)$/m.exec(said)?.[1];
