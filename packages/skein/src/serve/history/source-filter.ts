import { type LibraryConfig, isSourceName, sourceNames } from "@skein/history";
import { KnownError } from "@skein/protocol";

/** Returns a filter for the sessions of one coding agent. */
export function ofSource(name: string | undefined): Pick<LibraryConfig, "sources"> {
  if (name === undefined) return {};
  if (isSourceName(name)) return { sources: [name] };
  throw new KnownError("invalid", `source: "${name}" is not known. Expected one of ${sourceNames.join(", ")}.`);
}
