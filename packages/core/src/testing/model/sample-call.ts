import type { ModelCall } from "../../ports/model.ts";

/** A call with one prompt and nothing else, for tests of models. */
export function sampleCall(change: Partial<ModelCall> & Pick<ModelCall, "model">): ModelCall {
  return {
    sessionId: "01890000-0000-7000-8000-000000000001",
    system: "",
    turns: [{ role: "user", content: "Hello." }],
    tools: [],
    serverTools: [],
    toolChoice: "auto",
    maxTokens: 1000,
    thinkingTokens: 0,
    cache: "short",
    extra: {},
    betas: [],
    containerId: null,
    ...change,
  };
}
