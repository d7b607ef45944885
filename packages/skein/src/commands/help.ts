import type { Command } from "../main.ts";

/** `skein --help`. */
export function help(commands: readonly Command[]): number {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  console.log(`skein: the home of agent sessions

Usage: skein <command> [options]

Commands:
${lines.join("\n")}

Options:
  --help     This text
  --version  The version

Examples:
  skein serve              Listen on 127.0.0.1:7433
  skein serve --port 4010  Listen on another port`);
  return 0;
}
