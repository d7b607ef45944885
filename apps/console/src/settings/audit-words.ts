/** What an action of the audit log is called. Actions of a newer server are shown by their own names. */
export function actionWords(action: string): string {
  const refused = /^refused:(.+)$/.exec(action)?.[1];
  if (refused !== undefined) return `Refused: ${refused.replaceAll(/([A-Z])/g, " $1").toLowerCase()}`;
  return WORDS[action] ?? action;
}

const WORDS: Readonly<Record<string, string>> = {
  login: "Logged in",
  "key.create": "Made a key",
  "key.rotate": "Replaced a key",
  "key.revoke": "Revoked a key",
  "key.wrong": "Sent a wrong key",
  "agent.create": "Made an agent",
  "agent.change": "Changed an agent",
  "agent.archive": "Archived an agent",
  "model.add": "Added a model",
  "model.test": "Tested a model",
  "model.remove": "Removed a model",
  "webhook.create": "Added a webhook",
  "webhook.change": "Changed a webhook",
  "webhook.delete": "Removed a webhook",
  "session.delete": "Deleted a session",
  "session.export": "Saved a session",
  "session.import": "Imported a session",
  "session.adopt": "Adopted a session",
  "await.answer": "Answered",
};
