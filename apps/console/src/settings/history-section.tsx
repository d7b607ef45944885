import { useMe } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { CopyButton } from "../ui/copy-button.tsx";

const ARCHIVE = "skein history archive";

/**
 * Shows the folders from which sessions of coding agents are read. Says how to keep sessions that Claude Code would
 * delete.
 */
export function HistorySection() {
  const { data: me } = useMe();
  if (!me) return null;
  const { available, reason, roots } = me.server.history;
  return (
    <section>
      <div className="h">
        <h2>Sessions of other agents</h2>
      </div>
      <div className="card pad form">
        {!available && <p className="lbl">{visibleLine(reason ?? "Turned off on this server.")}</p>}
        {available && roots.length === 0 && (
          <p className="lbl">Read from the usual folders of the user who started the server.</p>
        )}
        {available && roots.length > 0 && (
          <ul className="roots" aria-label="Folders that are read">
            {roots.map((root) => (
              <li key={root}>
                <code>{visibleLine(root)}</code>
              </li>
            ))}
          </ul>
        )}
        {available && (
          <p className="lbl">
            Claude Code deletes its sessions after 30 days. On the server’s machine, <code>{ARCHIVE}</code>{" "}
            <CopyButton text={ARCHIVE} label="Copy the command" /> keeps them.
          </p>
        )}
      </div>
    </section>
  );
}
