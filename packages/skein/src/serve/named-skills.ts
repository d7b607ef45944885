import { resolve } from "node:path";
import type { FoundSkill } from "@skein/adapters/skills";
import { KnownError } from "@skein/protocol";

/**
 * Finds the skills that a request names, by name or by folder. Compares only the path of a folder, and never reads the
 * folder.
 */
export function namedSkills(opened: readonly FoundSkill[], names: readonly string[]): readonly FoundSkill[] {
  const found = new Set(
    names.flatMap((name) => {
      const isFolder = /[/\\]/.test(name);
      const place = resolve(name);
      const skills = opened.filter((skill) =>
        isFolder ? skill.root === place || skill.folder === place : skill.name === name,
      );
      if (skills.length > 0) return skills;
      if (isFolder)
        throw new KnownError(
          "invalid",
          `skills: The folder "${name}" is not allowed. The operator allows folders with skills: ["FOLDER"] in skein.config.ts.`,
        );
      const there = opened.map((skill) => skill.name).join(", ");
      throw new KnownError("invalid", `skills: This server has no skill "${name}". It has ${there || "none"}.`);
    }),
  );
  return [...found].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
