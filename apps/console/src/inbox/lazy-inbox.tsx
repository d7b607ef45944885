import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { LoadingRows } from "../ui/empty-state.tsx";

// The inbox is loaded lazily, because its code for diffs and highlighting is large. Home is shown before this code is
// loaded.
export const Inbox = loadedWhenShown(async () => (await import("./inbox.tsx")).Inbox, <LoadingRows rows={4} />);
