import type { ReactNode } from "react";
import { Link } from "wouter";
import { useMe } from "../api/context.tsx";
import { AuditSection } from "../settings/audit-section.tsx";
import { BrowserSection } from "../settings/browser-section.tsx";
import { HealthSection } from "../settings/health-section.tsx";
import { HistorySection } from "../settings/history-section.tsx";
import { KeysSection } from "../settings/keys-section.tsx";
import { MeSection } from "../settings/me-section.tsx";
import { ModelsSection } from "../settings/models-section.tsx";
import { PolicySection } from "../settings/policy-section.tsx";
import { WebhooksSection } from "../settings/webhooks-section.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";
import { MissingPage } from "../shell/missing-page.tsx";

interface Part {
  /** The part of the URL after /settings. */
  readonly path: string;
  readonly word: string;
  /** Whether only admin keys see the link to this part. */
  readonly isForAdmins?: true;
  readonly content: ReactNode;
}

const PARTS: readonly Part[] = [
  {
    path: "",
    word: "General",
    content: (
      <>
        <BrowserSection />
        <MeSection />
        <PolicySection />
        <div className="stack">
          <HealthSection />
          <HistorySection />
        </div>
      </>
    ),
  },
  { path: "/keys", word: "Keys", isForAdmins: true, content: <KeysSection /> },
  { path: "/models", word: "Models", content: <ModelsSection /> },
  { path: "/webhooks", word: "Webhooks", isForAdmins: true, content: <WebhooksSection /> },
  { path: "/audit", word: "Audit log", isForAdmins: true, content: <AuditSection /> },
];

interface SettingsPageProps {
  /** The part of the URL after /settings. */
  readonly path: string;
  readonly onLogOut: () => void;
}

/** Settings of this browser and of the server. The key decides which server settings are shown and can be changed. */
export function SettingsPage({ path, onLogOut }: SettingsPageProps) {
  const { data: me } = useMe();
  const isAdmin = me?.key.scopes.includes("admin") === true;
  const shown = PARTS.find((part) => part.path === path);
  usePageTitle(shown?.path ? `${shown.word} · Settings` : "Settings");
  if (!shown) return <MissingPage />;
  return (
    <>
      <header className="top">
        <h1>Settings</h1>
        <span className="grow" />
        <button type="button" className="btn" onClick={onLogOut}>
          Log out
        </button>
      </header>
      <nav className="bar parts" aria-label="Parts of the settings">
        {PARTS.filter(({ isForAdmins }) => isAdmin || !isForAdmins).map((part) => (
          <Link
            key={part.path}
            href={`/settings${part.path}`}
            className="part"
            aria-current={part === shown ? "page" : undefined}
          >
            {part.word}
          </Link>
        ))}
      </nav>
      <div className="scroll" tabIndex={0} role="region" aria-label={shown.word}>
        <div className="page settings">{shown.content}</div>
      </div>
    </>
  );
}
