import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import type { FolderOf } from "./call-place.ts";
import { type ConfinedFolder, bytesOf } from "./confined-folder.ts";

/** The largest file that Edit loads into memory. */
const EDIT_BYTES = 8 * 1024 * 1024;

/** Writes whole files of a folder. */
export function createWrite(folderOf: FolderOf): Tool {
  return defineTool({
    name: "Write",
    description: "Writes a file of the working folder, replacing it if it is there. Missing folders are made.",
    input: z.object({
      file_path: z.string().min(1).describe("The file, relative to the working folder or absolute inside it."),
      content: z.string().describe("The whole content of the file."),
    }),
    policy: "once",
    run: async ({ file_path, content }, context) => {
      await (await folderOf(context)).replaceFile(file_path, content);
      return `Wrote ${Buffer.byteLength(content)} bytes to ${file_path}.`;
    },
  });
}

/** Replaces text in files of a folder. */
export function createEdit(folderOf: FolderOf): Tool {
  return defineTool({
    name: "Edit",
    description:
      "Replaces text in a file of the working folder. The old text must be there exactly once, unless replace_all is set.",
    input: z.object({
      file_path: z.string().min(1).describe("The file, relative to the working folder or absolute inside it."),
      old_string: z.string().min(1).describe("The text to replace, exactly as it is in the file."),
      new_string: z.string().describe("The new text."),
      replace_all: z
        .boolean()
        .optional()
        .describe("Replace every occurrence. By default the old text must occur exactly once."),
    }),
    policy: "once",
    run: async ({ file_path, old_string, new_string, replace_all = false }, context) => {
      if (old_string === new_string) throw new Error("The old and the new text are the same.");
      const folder = await folderOf(context);
      const text = await textOf(folder, file_path);
      const [old, written] = asInFile(text, old_string, new_string);
      const places = text.split(old).length - 1;
      if (places === 0) throw new Error(`The old text is not in ${file_path}.`);
      if (places > 1 && !replace_all)
        throw new Error(
          `The old text is in ${file_path} ${places} times. Give more of the surrounding text, or set replace_all.`,
        );
      // The replacement is a function, because a text may contain `$&`.
      await folder.replaceFile(
        file_path,
        text.replaceAll(old, () => written),
      );
      return `Replaced ${places === 1 ? "one place" : `${places} places`} in ${file_path}.`;
    },
  });
}

/**
 * Returns both texts with the line ends of the file. Read does not show line ends, so a model cannot know that a file
 * has Windows line ends.
 */
function asInFile(text: string, old: string, written: string): readonly [string, string] {
  const fits = old.includes("\n") && text.includes(old);
  if (fits || !text.includes("\r\n") || old.includes("\r\n")) return [old, written];
  return [old.replaceAll("\n", "\r\n"), written.replaceAll(/\r?\n/g, "\r\n")];
}

async function textOf(folder: ConfinedFolder, path: string): Promise<string> {
  const file = await folder.openFile(path);
  try {
    const { size } = file;
    if (size > EDIT_BYTES) throw new Error(`${path} has ${size} bytes; Edit takes ${EDIT_BYTES} at most.`);
    const bytes = await bytesOf(file, EDIT_BYTES);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new Error(`${path} is not text in UTF-8.`);
    }
  } finally {
    await file.close();
  }
}
