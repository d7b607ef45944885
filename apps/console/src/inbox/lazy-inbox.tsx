import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { LoadingRows } from "../ui/nothing.tsx";

// Differences and highlighting are most of its code: Home stands before they are there.
export const Inbox = loadedWhenShown(async () => (await import("./inbox.tsx")).Inbox, <LoadingRows rows={4} />);
