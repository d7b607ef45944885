/**
 * For each example, patterns that its output must match. The examples run without an API key, with simulated answers.
 */
export const EXPECTED_OUTPUT: Readonly<Record<string, readonly RegExp[]>> = {
  "first-session": [/The answer is 4/],
  hello: [/The answer is 42/],
  // Prints nothing: it only exports an agent for `skein run --agent`.
  "own-tool": [],
  tools: [/"sky":"sunny"/, /2 steps, \$0\n/, /get_weather: 21 °C/],
  "frontend-tool": [/awaiting_frontend_tools: pick_colour/, /The other process: accepted/, /answered: "blue"/],
  "crash-and-resume": [/ended with SIGKILL/, /outcome of this call is unknown/, /Letters: 1$/m],
  subagents: [/answered: "4"/, /worked for toolu_\w+: 4 messages/],
  "structured-answer": [/number: 'A17', total: 120, currency: 'EUR'/],
  hooks: [/token \(hidden\)|No deploy on Fridays/],
  skills: [/load_skill \{ name: 'release-notes' \} 1\. Group the changes/],
  mcp: [/mcp__clock__time/, /It is noon in Lisbon/],
};
