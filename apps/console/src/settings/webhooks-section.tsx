import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Webhook, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { WebhookEvents } from "./webhook-events.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { plural } from "../ui/amounts.ts";
import { Field } from "../ui/field.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { StateMark } from "../ui/status.tsx";
import { fullTime } from "../ui/times.ts";

/** Webhooks, and their deliveries. */
export function WebhooksSection() {
  const api = useApi();
  const queries = useQueryClient();
  const webhooks = useQuery({ queryKey: ["webhooks"], queryFn: () => api.webhooks(), retry: false });
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setProblem(undefined);
    try {
      await work();
      await queries.invalidateQueries({ queryKey: ["webhooks"] });
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <section className="wide">
      <div className="h">
        <h2>Webhooks</h2> <span className="n">{webhooks.data?.length ?? ""}</span>
      </div>
      <div className="card">
        {webhooks.isError ? (
          <p className="pad lbl">{sentenceOf(webhooks.error)}</p>
        ) : (
          <>
            {webhooks.data?.length === 0 && (
              <p className="pad lbl">
                There are no webhooks. A webhook is called when a run begins or ends, and when something waits for a
                person.
              </p>
            )}
            <ul className="lastlist">
              {(webhooks.data ?? []).map((webhook) => (
                <WebhookRow key={webhook.id} webhook={webhook} onAttempt={(work) => void attempt(work)} />
              ))}
            </ul>
            <form
              className="setform fields"
              onSubmit={(event) => {
                event.preventDefault();
                void attempt(async () => {
                  const made = await api.createWebhook({ url: url.trim() });
                  setSecret(made.secret);
                  setUrl("");
                });
              }}
            >
              <Field label="Address">
                <input
                  className="input"
                  placeholder="https://example.com/hooks/skein"
                  value={url}
                  onChange={(event) => setUrl(event.target.value)}
                />
              </Field>
              <button type="submit" className="btn" disabled={url.trim() === ""}>
                Add
              </button>
            </form>
          </>
        )}
        {secret !== undefined && (
          <p className="pad">
            The secret, shown once: <code>{secret}</code> <CopyButton text={secret} label="Copy the secret" />
          </p>
        )}
        {problem !== undefined && (
          <p className="say-failed pad" role="alert">
            {problem}
          </p>
        )}
      </div>
    </section>
  );
}

const STATES = { pending: "queued", delivered: "done", failed: "failed" } as const;

interface WebhookRowProps {
  readonly webhook: Webhook;
  readonly onAttempt: (work: () => Promise<unknown>) => void;
}

function WebhookRow({ webhook, onAttempt }: WebhookRowProps) {
  const api = useApi();
  const [isOpen, setOpen] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const deliveries = useQuery({
    queryKey: ["webhooks", webhook.id],
    queryFn: () => api.deliveries(webhook.id),
    enabled: isOpen,
    // The list is refreshed while a delivery is pending.
    refetchInterval: ({ state }) => (state.data?.some((one) => one.state === "pending") ? 2000 : false),
  });
  return (
    <li>
      <div className="setitem">
        <code className="grow cut">{visibleLine(webhook.url)}</code>
        <span className="faint desk-only">{plural(webhook.events.length, "kind")} of event</span>
        <button type="button" className="btn quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Deliveries
        </button>
        <button type="button" className="btn quiet" aria-expanded={isChanging} onClick={() => setChanging(!isChanging)}>
          Change
        </button>
        <button type="button" className="btn quiet" onClick={() => onAttempt(() => api.removeWebhook(webhook.id))}>
          Remove
        </button>
      </div>
      {isChanging && (
        <WebhookEvents
          chosen={webhook.events}
          onSave={(events) =>
            onAttempt(async () => {
              await api.changeWebhook(webhook.id, { events });
              setChanging(false);
            })
          }
        />
      )}
      {isOpen && (
        <ul className="deliveries">
          {deliveries.data?.length === 0 && <li className="lbl">Nothing was sent yet.</li>}
          {(deliveries.data ?? []).map((delivery) => (
            <li key={delivery.id} title={delivery.last_error ?? ""}>
              <StateMark state={STATES[delivery.state]} word={delivery.state} />
              <code>{delivery.event_type}</code>
              <span className="grow cut faint">
                {delivery.last_error ?? (delivery.last_status === null ? "" : `answered ${delivery.last_status}`)}
              </span>
              <span className="faint num desk-only">{fullTime(delivery.created_at)}</span>
              {delivery.state !== "pending" && (
                <button
                  type="button"
                  className="btn quiet"
                  onClick={() =>
                    onAttempt(async () => {
                      await api.redeliver(webhook.id, delivery.id);
                      await deliveries.refetch();
                    })
                  }
                >
                  Send again
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
