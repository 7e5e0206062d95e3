/** Ctrl-K: go to a page or a workload without the mouse. */
import { useNavigate } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Button, Dialog, Modal, ModalOverlay } from "react-aria-components";
import type { OrderPage, WorkloadPage } from "./api/schema";
import { useVisitor } from "./entrance";
import { shownTo } from "./ui/pages";
import { harmless } from "./ui/text";

const PLACES = [
  { id: "/", title: "Overview" },
  { id: "/queue", title: "Queue: everything that waits" },
  { id: "/fleet", title: "Fleet: nodes and GPUs" },
  { id: "/queues", title: "Queues: quota and use" },
  { id: "/timeline", title: "Timeline: nodes and GPUs, past and planned" },
  { id: "/usage", title: "Usage and cost: GPU-hours, money, what was idle" },
  { id: "/budgets", title: "Budgets: what queues may spend" },
  { id: "/what-if", title: "What if: the past with something changed" },
  { id: "/audit", title: "Audit: who did what, and whether it is as it was written" },
  { id: "/submit", title: "Submit a workload" },
  { id: "/services", title: "Services: replicas, load, latency" },
  { id: "/workspaces", title: "Workspaces: open, suspend, resume" },
  { id: "/sweeps", title: "Sweeps: trials and the best so far" },
  { id: "/schedules", title: "Schedules: what is submitted again and again" },
  { id: "/nodes", title: "Nodes: health, cordon, drain" },
  { id: "/bookings", title: "Bookings: maintenance and reservations" },
  { id: "/admin", title: "Admin: users, roles, tokens, sessions, prices, policy" },
  { id: "/profile", title: "Profile: tokens, sessions, theme, time zone" },
];
const MOST = 12;

interface Place {
  id: string;
  title: string;
}

export function Palette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        setOpen(true);
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return (
    <>
      <Button className="small plain" onPress={() => setOpen(true)}>
        Go to <kbd className="keys">Ctrl K</kbd>
      </Button>
      <ModalOverlay className="overlay top" isDismissable isOpen={open} onOpenChange={setOpen}>
        <Modal className="modal">
          <Dialog className="dialog" aria-label="Go to">
            <Chooser close={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
  );
}

function Chooser({ close }: { close(): void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const queries = useQueryClient();
  const go = useNavigate();
  const { me } = useVisitor();
  const shown = useMemo(() => new Set(shownTo(me).map((each) => each.to)), [me]);
  const places = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const jobs = new Set<string>();
    for (const [, page] of queries.getQueriesData<WorkloadPage>({ queryKey: ["workloads"] }))
      for (const each of page?.items ?? []) jobs.add(each.id);
    for (const each of queries.getQueryData<OrderPage>(["order"])?.items ?? []) jobs.add(each.workload);
    const found: Place[] = PLACES.filter((each) => shown.has(each.id) && each.title.toLowerCase().includes(wanted));
    for (const id of jobs) {
      if (found.length >= MOST) break;
      if (wanted && id.toLowerCase().includes(wanted)) found.push({ id: `job:${id}`, title: id });
    }
    if (wanted && /^[a-z0-9][a-z0-9/-]*$/.test(wanted) && !jobs.has(wanted))
      found.push({ id: `job:${wanted}`, title: `Workload ${wanted}` });
    return found;
  }, [text, queries, shown]);
  const chosen = Math.min(at, places.length - 1);
  const take = (place: Place | undefined) => {
    if (!place) return;
    close();
    if (place.id.startsWith("job:"))
      void go({ to: "/workloads/$ref", params: { ref: place.id.slice(4) } });
    else void go({ to: place.id });
  };
  return (
    <>
      <input
        autoFocus
        role="combobox"
        aria-label="Page or workload"
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={places[chosen] ? `place-${chosen}` : undefined}
        placeholder="Page or workload"
        value={text}
        onChange={(event) => (setText(event.target.value), setAt(0))}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(places.length - 1, chosen + 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
          else if (event.key === "Enter") take(places[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="places" role="listbox" aria-label="Places" className="places">
        {places.map((each, n) => (
          <li
            key={each.id}
            id={`place-${n}`}
            role="option"
            aria-selected={n === chosen}
            onClick={() => take(each)}
          >
            {harmless(each.title, 120)}
          </li>
        ))}
      </ul>
    </>
  );
}
