import type { Step } from "../session/view.ts";
import { short } from "../ui/amounts.ts";

/**
 * The steps with their tokens: tokens that were read from the cache, tokens that were written to it, and other tokens.
 */
export function StepList({
  steps,
  at,
  onStep,
}: {
  steps: readonly Step[];
  at: number;
  onStep: (index: number) => void;
}) {
  const most = Math.max(1, ...steps.map(sentOf));
  return (
    <nav className="steps scroll" aria-label="Steps">
      <div className="lbl steps-h">Step, tokens sent</div>
      {steps.map((step, index) => {
        const sent = sentOf(step);
        const width = (tokens: number | null | undefined): { width: string } => ({
          width: `${((tokens ?? 0) / most) * 100}%`,
        });
        return (
          <button
            type="button"
            key={step.key}
            className="stp"
            aria-current={index === at ? "step" : undefined}
            onClick={() => onStep(index)}
          >
            <span>{index + 1}</span>
            <span className="b">
              <i className="bg-o-model" style={width(step.usage?.cache_read_input_tokens)} />
              <i className="bg-c-2" style={width(step.usage?.cache_creation_input_tokens)} />
              <i className="bg-c-1" style={width(step.usage?.input_tokens)} />
            </span>
            <span className="e">{sent === 0 ? "…" : short(sent)}</span>
          </button>
        );
      })}
    </nav>
  );
}

export function sentOf({ usage }: Pick<Step, "usage">): number {
  if (!usage) return 0;
  return usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
}
