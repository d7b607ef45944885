import type { ContentBlock, FactData, Usage } from "@skein/protocol";
import type { Effect, ModelCall } from "../check-history.ts";
import type { Model, ModelReply, Tools } from "./simulated-runtime.ts";
import type { Faults } from "./faults.ts";
import type { Process, World } from "./world.ts";

/** A prompt with this word crashes every worker that calls the model with it. */
export const POISON = "poison";

export interface ModelAndTools {
  readonly modelCalls: ModelCall[];
  readonly effects: Effect[];
  modelFor(process: Process): Model;
  toolsFor(process: Process): Tools;
}

/**
 * The model and the effects of tools, which are outside of Skein. Both keep a ledger that the checks compare with the
 * log.
 */
export function createModelAndTools({ world, faults }: { world: World; faults: () => Faults }): ModelAndTools {
  const { random } = world;
  const modelCalls: ModelCall[] = [];
  const effects: Effect[] = [];
  let answers = 0;
  let calls = 0;

  function reply(mayUseTools: boolean): ModelReply {
    answers += 1;
    const count = mayUseTools && random.chance(0.6) ? random.between(1, 3) : 0;
    const content: ContentBlock[] = [{ type: "text", text: `answer ${answers}` }];
    for (let i = 0; i < count; i++)
      content.push({
        type: "tool_use",
        id: `toolu_${(calls += 1)}`,
        name: random.pick(["once", "repeatable"]),
        input: { n: i },
      });
    // The number of the answer is part of its usage, so that no two answers have the same usage.
    const usage: Usage = { input_tokens: 1000 + answers, output_tokens: random.between(1, 50) };
    return { content, usage, stopReason: count > 0 ? "tool_use" : "end_turn" };
  }

  return {
    modelCalls,
    effects,
    modelFor: (process) => async (request) => {
      const call: ModelCall = { at: world.now(), usage: null, ...request };
      modelCalls.push(call);
      await process.turn(`${process.name} model: step ${request.step}`, random.pick([5, 50, 500, 3000]));
      if (JSON.stringify(request.messages.at(-1)?.content).includes(POISON)) {
        process.kill("poisoned prompt");
        return new Promise(() => {});
      }
      if (random.chance(faults().modelFails)) return { failed: "overloaded" };
      const answer = reply(request.mayUseTools);
      call.usage = answer.usage;
      return answer;
    },
    toolsFor: (process) => ({
      policyOf: (name) => (name === "repeatable" ? "repeatable" : "once"),
      async run({ sessionId, toolUseId, name }) {
        await process.turn(`${process.name} tool ${toolUseId} ${name}: begins`, random.pick([0, 10, 100]));
        world.note(`effect of ${toolUseId}`);
        const policy = name === "repeatable" ? "repeatable" : "once";
        effects.push({ at: world.now(), sessionId, toolUseId, policy, by: process.name });
        await process.turn(`${process.name} tool ${toolUseId}: done`, random.pick([0, 10, 1000, 6000]));
        return `result of ${toolUseId}`;
      },
    }),
  };
}

/** The price of one model call: a micro-dollar for every token, which makes sums easy to follow. */
export function priceOf(model: string, usage: Usage): NonNullable<FactData<"step.generated">["cost"]> {
  return {
    model,
    input_micros: usage.input_tokens,
    output_micros: usage.output_tokens,
    cache_write_micros: 0,
    cache_read_micros: 0,
    server_tool_micros: 0,
    total_micros: usage.input_tokens + usage.output_tokens,
    long_context_applied: false,
  };
}
