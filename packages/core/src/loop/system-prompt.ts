import type { AgentConfig } from "@skein/protocol";
import { SKILL_TOOL } from "../ports/skill.ts";

/** Returns the system prompt of the agent with the list of its skills. A session always gets the same text. */
export function systemOf({ system_prompt, skills = [] }: Pick<AgentConfig, "system_prompt" | "skills">): string {
  if (skills.length === 0) return system_prompt;
  const lines = skills
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    // One line for each skill, so that a description cannot look like another skill.
    .map(({ name, description }) => `- ${name}: ${description.replaceAll(/\s+/g, " ").trim()}`);
  const list = `# Skills\n\nEach skill has instructions for one kind of task. If a task fits a description, load the skill with ${SKILL_TOOL} before you begin, and follow it.\n\n${lines.join("\n")}`;
  return system_prompt === "" ? list : `${system_prompt}\n\n${list}`;
}
