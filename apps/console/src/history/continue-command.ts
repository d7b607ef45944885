/**
 * Returns the command that resumes a session in its folder. The folder comes from a transcript, so it is quoted for the
 * shell.
 */
export function continueCommand({
  directory,
  command,
}: {
  readonly directory: string;
  readonly command: string;
}): string {
  if (directory === "") return command;
  const isPlain = /^[A-Za-z0-9_./~-]+$/.test(directory) && !directory.startsWith("-");
  return `cd ${isPlain ? directory : `-- '${directory.replaceAll("'", String.raw`'\''`)}'`} && ${command}`;
}
