import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { type Agent, type AgentOptions, createAgent } from "skein";
import { onTestFinished } from "vitest";

/** An agent with its own simulator as its model. Both are closed at the end of the test. */
export async function simulatedAgent(options: AgentOptions = {}): Promise<{ agent: Agent; simulator: Simulator }> {
  const simulator = await createSimulator();
  const agent = createAgent({ apiKey: "test", baseUrl: simulator.url, ...options });
  onTestFinished(async () => {
    await agent.close();
    await simulator.close();
  });
  return { agent, simulator };
}

/** A prompt that makes the simulator play these steps. */
export function scripted(text: string, steps: readonly Step[]): string {
  return `${text} ${script(steps, text)}`;
}
