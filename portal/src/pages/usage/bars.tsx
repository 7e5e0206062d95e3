/** Bars over days, drawn as one picture that says its numbers too. */
import type { ReactNode } from "react";
import { useSettings } from "../../ui/settings";
import { top, type Day } from "./days";

const HEIGHT = 100;
const LABELS = 8;

export function Bars(props: { label: string; bars: readonly Day[]; said(value: number): string; children?: ReactNode }) {
  const { label, bars, said } = props;
  useSettings(); // drawn anew in another theme
  const most = top(Math.max(...bars.map((each) => each.value)));
  const every = Math.ceil(bars.length / LABELS);
  const spoken = bars.slice(-31).map((each) => `${each.day} ${said(each.value)}`);
  return (
    <figure className="days">
      <figcaption>
        {label} {props.children}
      </figcaption>
      <div className="days-plot">
        <div className="days-scale quiet" aria-hidden="true">
          <span>{said(most)}</span>
          <span>0</span>
        </div>
        <svg
          role="img"
          aria-label={`${label}: ${spoken.join(", ")}`}
          viewBox={`0 0 ${bars.length} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {bars.map((each, n) => {
            const height = (HEIGHT * each.value) / most;
            return (
              <g key={each.day}>
                <rect className="hit" x={n} width={1} height={HEIGHT}>
                  <title>{`${each.day}: ${said(each.value)}`}</title>
                </rect>
                <rect className="fill" x={n + 0.12} width={0.76} y={HEIGHT - height} height={height} />
              </g>
            );
          })}
        </svg>
      </div>
      <div className="days-axis quiet" aria-hidden="true">
        {bars.map((each, n) => (
          <span key={each.day} style={{ gridColumn: n + 1 }}>
            {n % every === 0 ? each.day.slice(5) : ""}
          </span>
        ))}
      </div>
    </figure>
  );
}
