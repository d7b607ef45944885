import type { AgentSkill } from "@skein/protocol";
import { z } from "zod";
import { type Tool, defineTool } from "./tool.ts";

/** Instructions for one kind of task, which the model loads when it needs them. */
export interface Skill extends AgentSkill {
  /**
   * Returns the instructions, or a file from their folder. Rejects with a sentence for the model if the file does not
   * exist.
   */
  load(file?: string): Promise<string>;
}

/** The name of the tool that every agent with skills has. */
export const SKILL_TOOL = "load_skill";

/** Creates the tool with which the model loads skills. The tool loads only the skills of the agent. */
export function createSkillTool(skills: readonly Skill[]): Tool {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  return defineTool({
    name: SKILL_TOOL,
    description:
      "Loads a skill of the system prompt's list: its instructions, or one of the files that the instructions mention.",
    input: z.object({
      name: z.string().describe("The name of the skill."),
      file: z
        .string()
        .min(1)
        .optional()
        .describe("A file of the skill, relative to its folder. Without it: the instructions."),
    }),
    policy: "repeatable",
    run: ({ name, file }) => {
      const skill = byName.get(name);
      if (!skill) throw new Error(`There is no skill "${name}". There are ${[...byName.keys()].join(", ") || "none"}.`);
      return skill.load(file);
    },
  });
}
