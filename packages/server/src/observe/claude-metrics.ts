import type { ClaudeProcesses } from "../dialects/claude/gate.ts";

/** Returns metrics of Claude Code's processes in Prometheus text format, or an empty text if Claude Code cannot run. */
export function claudeMetrics(processes: ClaudeProcesses | undefined): string {
  if (!processes) return "";
  const { running, idle, ahead, waiting, memoryBytes, limits } = processes;
  return [
    "# TYPE skein_claude_processes gauge",
    `skein_claude_processes{state="running"} ${running}`,
    `skein_claude_processes{state="idle"} ${idle}`,
    `skein_claude_processes{state="ahead"} ${ahead}`,
    "# TYPE skein_claude_processes_limit gauge",
    `skein_claude_processes_limit{state="running"} ${limits.running}`,
    `skein_claude_processes_limit{state="idle"} ${limits.idle}`,
    `skein_claude_processes_limit{state="ahead"} ${limits.ahead}`,
    "# TYPE skein_claude_runs_waiting gauge",
    `skein_claude_runs_waiting ${waiting}`,
    ...(memoryBytes === null
      ? []
      : ["# TYPE skein_claude_memory_bytes gauge", `skein_claude_memory_bytes ${memoryBytes}`]),
    ...(limits.memoryBytes === null
      ? []
      : ["# TYPE skein_claude_memory_limit_bytes gauge", `skein_claude_memory_limit_bytes ${limits.memoryBytes}`]),
    "",
  ].join("\n");
}
