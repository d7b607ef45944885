import type { Handlers } from "../../request-context.ts";
import { adoptHandlers } from "../claude/adopt.ts";
import { claudeHandlers } from "../claude/handlers.ts";
import { offerHandlers } from "../claude/offer.ts";
import { agentHandlers } from "./agents.ts";
import { auditHandlers } from "./audit.ts";
import { awaitHandlers } from "./awaits.ts";
import { changeHandlers } from "./changes.ts";
import { eventHandlers } from "./events.ts";
import { fileHandlers } from "./files.ts";
import { historyHandlers } from "./history.ts";
import { keyHandlers } from "./keys.ts";
import { loginHandlers } from "./logins.ts";
import { messageHandlers } from "./messages.ts";
import { modelHandlers } from "./models.ts";
import { runTextHandlers } from "./run-text.ts";
import { runHandlers } from "./runs.ts";
import { sessionHandlers } from "./sessions.ts";
import { sqlHandlers } from "./sql.ts";
import { stepHandlers } from "./steps.ts";
import { systemHandlers } from "./system.ts";
import { webhookHandlers } from "./webhooks.ts";
import { workerHandlers } from "./workers.ts";

/** The handler of each route. The compiler rejects a route without a handler. */
export const handlers: Handlers = {
  ...systemHandlers,
  ...loginHandlers,
  ...keyHandlers,
  ...auditHandlers,
  ...agentHandlers,
  ...modelHandlers,
  ...sessionHandlers,
  ...messageHandlers,
  ...eventHandlers,
  ...changeHandlers,
  ...awaitHandlers,
  ...fileHandlers,
  ...runHandlers,
  ...stepHandlers,
  ...runTextHandlers,
  ...sqlHandlers,
  ...historyHandlers,
  ...webhookHandlers,
  ...workerHandlers,
  ...claudeHandlers,
  ...adoptHandlers,
  ...offerHandlers,
};
