/** Identifies a session of a coding agent, such as Claude Code. Sessions of two agents may have the same id. */
export interface HistoryKey {
  readonly id: string;
  /**
   * The coding agent. If undefined, and several agents have a session with this id, the session that was active last is
   * meant.
   */
  readonly source: string | undefined;
}

/** Returns the URL of the page that shows a coding agent's session. */
export function historyHref({ id, source }: HistoryKey, place: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...(source !== undefined && { source }), ...place }).toString();
  return query === "" ? `/history/${id}` : `/history/${id}?${query}`;
}
