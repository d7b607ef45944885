export function AgentPage(_: { id: string }) {
  return null;
}
