export function SettingsPage(_: { onLogOut: () => void }) {
  return null;
}
