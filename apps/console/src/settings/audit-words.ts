type Outcome = "done" | "refused" | "failed";

/** An audit action in words. Rejected and failed actions are shown as attempts, unknown actions by their names. */
export function actionWords(action: string, outcome: Outcome = "done"): string {
  const refused = /^refused:(.+)$/.exec(action)?.[1];
  if (refused !== undefined) return `Refused: ${refused.replaceAll(/([A-Z])/g, " $1").toLowerCase()}`;
  const [done, tried] = WORDS[action] ?? [action, action];
  return outcome === "done" ? done : tried;
}

const WORDS: Readonly<Record<string, readonly [done: string, tried: string]>> = {
  login: ["Logged in", "Tried to log in"],
  "key.create": ["Made a key", "Tried to make a key"],
  "key.rotate": ["Replaced a key", "Tried to replace a key"],
  "key.revoke": ["Revoked a key", "Tried to revoke a key"],
  "key.wrong": ["Sent a wrong key", "Sent a wrong key"],
  "agent.create": ["Made an agent", "Tried to make an agent"],
  "agent.change": ["Changed an agent", "Tried to change an agent"],
  "agent.archive": ["Archived an agent", "Tried to archive an agent"],
  "agent.restore": ["Restored an agent", "Tried to restore an agent"],
  "model.add": ["Added a model", "Tried to add a model"],
  "model.test": ["Tested a model", "Tried to test a model"],
  "model.remove": ["Removed a model", "Tried to remove a model"],
  "webhook.create": ["Added a webhook", "Tried to add a webhook"],
  "webhook.change": ["Changed a webhook", "Tried to change a webhook"],
  "webhook.delete": ["Removed a webhook", "Tried to remove a webhook"],
  "session.delete": ["Deleted a session", "Tried to delete a session"],
  "session.export": ["Saved a session", "Tried to save a session"],
  "session.import": ["Imported a session", "Tried to import a session"],
  "session.adopt": ["Adopted a session", "Tried to adopt a session"],
  "await.answer": ["Answered", "Tried to answer"],
};
