import { useState } from "react";
import { turnNoticesOn, wantsNotices } from "../shell/notices.ts";

/** Offers browser notifications about sessions that wait for the user. */
export function NoticesLink() {
  const [isOn, setOn] = useState(wantsNotices);
  if (!("Notification" in window) || isOn || Notification.permission === "denied") return null;
  return (
    <button type="button" className="link" onClick={() => void turnNoticesOn().then(setOn)}>
      Notify me in the browser
    </button>
  );
}
