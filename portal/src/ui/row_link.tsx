/** A link to a workload in a long table: it follows nothing, so that a thousand of them cost little. */
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";

export function RowLink({ job, children }: { job: string; children: ReactNode }) {
  const router = useRouter();
  const follow = (event: MouseEvent) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: "/workloads/$ref", params: { ref: job } });
  };
  return (
    <a href={`/workloads/${encodeURIComponent(job)}`} tabIndex={-1} onClick={follow}>
      {children}
    </a>
  );
}
