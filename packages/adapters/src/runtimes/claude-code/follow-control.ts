import type { SessionState } from "@skein/core";
import type { PermissionMode } from "@anthropic-ai/claude-agent-sdk";
import type { Child } from "./claude-child.ts";

/** Returns a function that applies a new permission mode or model of the session to its child. */
export function followControl(child: Child, first: SessionState): (state: SessionState) => void {
  const told = { ...first.control };
  return ({ control: { permissionMode, model } }) => {
    if (permissionMode !== null && permissionMode !== told.permissionMode) {
      told.permissionMode = permissionMode;
      child.now.permissionMode = permissionMode as PermissionMode;
      child.query.setPermissionMode(permissionMode as PermissionMode).catch(() => undefined);
    }
    if (model !== null && model !== told.model) {
      told.model = model;
      changeModel(child, model).catch(() => undefined);
    }
  };
}

/**
 * Changes the model of the child. Without the model broker, the child cannot call a model with a separate address, so
 * the next run starts another process.
 */
async function changeModel(child: Child, model: string): Promise<void> {
  if (!child.isBrokered && (await child.models.reach(model))) return;
  child.now.model = model;
  await child.query.setModel(model);
}
