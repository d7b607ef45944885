import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { LoadingRows } from "../ui/empty-state.tsx";

// Loaded lazily, because diffs and highlighting are most of its code, and Home is shown before they are loaded.
export const Inbox = loadedWhenShown(async () => (await import("./inbox.tsx")).Inbox, <LoadingRows rows={4} />);
