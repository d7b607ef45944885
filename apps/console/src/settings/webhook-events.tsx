import { useState } from "react";
import type { Webhook } from "../api/api.ts";

type WebhookEvent = Webhook["events"][number];

const EVENTS: readonly (readonly [event: WebhookEvent, words: string])[] = [
  ["session.created", "A session was opened"],
  ["session.started", "A run began"],
  ["session.completed", "A run was completed"],
  ["session.failed", "A run failed or was cancelled"],
  ["session.edited", "Title or tags were changed"],
  ["await.opened", "Something waits for a person"],
];

interface WebhookEventsProps {
  readonly chosen: readonly WebhookEvent[];
  readonly onSave: (events: WebhookEvent[]) => void;
}

/** Lets the user choose the events of a webhook. */
export function WebhookEvents({ chosen, onSave }: WebhookEventsProps) {
  const [events, setEvents] = useState<readonly WebhookEvent[]>(chosen);
  return (
    <form
      className="pad form"
      onSubmit={(event) => {
        event.preventDefault();
        onSave([...events]);
      }}
    >
      {EVENTS.map(([event, words]) => (
        <label key={event} className="check">
          <input
            type="checkbox"
            checked={events.includes(event)}
            onChange={({ target }) =>
              setEvents(target.checked ? [...events, event] : events.filter((one) => one !== event))
            }
          />
          {words} <code className="faint">{event}</code>
        </label>
      ))}
      <div className="form-foot">
        <button type="submit" className="btn" disabled={events.length === 0}>
          Save
        </button>
      </div>
    </form>
  );
}
