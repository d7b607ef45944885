import { scriptedAgent } from "@skein/core/testing";

/** The agent of every session in the campaign: two tools, and many retries for a model that becomes unavailable. */
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

/** A worker prints this line when it has created a session. The line has the message id of the session's prompt. */
export const begunLine = (messageId: string): string => `begun ${messageId}\n`;
export const begunIn = (said: string): string | undefined => /^begun (\S+)$/m.exec(said)?.[1];
