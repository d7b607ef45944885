import { useState } from "react";
import { turnNoticesOn, wantsNotices } from "../shell/notices.ts";

/** Offers browser notifications for open awaits. */
export function NoticesLink() {
  const [isOn, setOn] = useState(wantsNotices);
  if (!("Notification" in window) || isOn || Notification.permission === "denied") return null;
  return (
    <button type="button" className="link" onClick={() => void turnNoticesOn().then(setOn)}>
      Notify me in the browser
    </button>
  );
}
