/** The log of one process, as it is written. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";
import type { WorkloadDetail } from "../../api/schema";
import { Command, Empty } from "../../ui/parts";
import { plural } from "../../ui/numbers";
import { download, harmless, word } from "../../ui/text";
import { GangChoice, askThere, clusterOf } from "./gang_choice";
import { NOTHING, readTail, type Tail } from "./tail";

const LINE = 20;

export function Logs(props: {
  job: WorkloadDetail;
  gang: number;
  rank: number;
  find: string;
  set(more: { gang?: number; rank?: number; attempt?: undefined; find?: string | undefined }): void;
}) {
  const { job, gang, rank, find, set } = props;
  const shown = job.gangs.find((each) => each.index === gang);
  const elsewhere = clusterOf(job);
  const attempt = shown?.attempt ?? 0;
  const over = shown?.phase === "ended";
  const [tail, setTail] = useState<Tail>(NOTHING);
  const [down, setDown] = useState(true);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!attempt) return;
    const stopped = new AbortController();
    setTail(NOTHING);
    void readTail({ ref: job.id, index: gang, rank, follow: true }, setTail, stopped.signal);
    return () => stopped.abort();
  }, [job.id, gang, rank, attempt]);

  const lines = useMemo(() => {
    const wanted = find.toLowerCase();
    return wanted ? tail.lines.filter((each) => each.toLowerCase().includes(wanted)) : tail.lines;
  }, [tail, find]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 30,
  });
  useEffect(() => {
    if (down && lines.length) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines.length, down, virtual]);

  if (elsewhere && attempt && tail.state === "broken" && !tail.lines.length)
    return (
      <Empty title="The cluster has its log">
        <p>{harmless(tail.trouble, 1000)}</p>
        <p>
          The scheduler of the cluster {harmless(elsewhere.cluster, 63)} is asked again every few seconds. The cluster keeps the log for as long
          as the pods are there{over ? ", which may be removed by now" : ""}. With a kubeconfig for it:
        </p>
        <Command line={askThere("logs", elsewhere, over ? "" : "--follow")} label="Its log" />
      </Empty>
    );
  if (!attempt)
    return over ? (
      <Empty title="No log">
        <p>It ended before it started.</p>
      </Empty>
    ) : (
      <Empty title="No log yet">
        <p>It has not started. The tab Why says what it waits for.</p>
      </Empty>
    );
  const scrolled = () => {
    const element = box.current;
    if (element) setDown(element.scrollHeight - element.scrollTop - element.clientHeight < 3 * LINE);
  };
  return (
    <div className="logs">
      <div className="filters">
        <GangChoice job={job} gang={gang} choose={(gang) => set({ gang, rank: 0, attempt: undefined })} />
        <label>
          Rank
          <select value={rank} onChange={(event) => set({ rank: Number(event.target.value) })}>
            {Array.from({ length: shown?.ranks ?? 1 }, (_, n) => (
              <option key={n} value={n}>
                {n} of {shown?.ranks ?? 1}
              </option>
            ))}
          </select>
        </label>
        <label>
          Find
          <input type="search" value={find} onChange={(event) => set({ find: event.target.value || undefined })} />
        </label>
        <span className="quiet" role="status">
          {said(tail, over)} {plural(lines.length, "line")}
          {find && ` of ${tail.lines.length}`}
        </span>
        {!down && (
          <Button className="small" onPress={() => setDown(true)}>
            Follow the end
          </Button>
        )}
        <Button
          className="small plain"
          onPress={() => download(`${job.id}-${gang}-${rank}.log`, tail.lines.join("\n") + "\n", "text/plain")}
        >
          Save
        </Button>
      </div>
      {tail.dropped > 0 && <p className="quiet">Earlier lines are left out; the command has all of them.</p>}
      <div className="log" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label="Log" aria-live="off">
        <div style={{ height: virtual.getTotalSize() }} className="log-lines">
          {virtual.getVirtualItems().map((item) => (
            <div key={item.key} className="log-line" style={{ transform: `translateY(${item.start}px)` }}>
              {lines[item.index] || " "}
            </div>
          ))}
        </div>
      </div>
      <Command
        line={`ganglion logs ${word(job.id)}${gang ? `/${gang}` : ""}${rank ? ` --rank ${rank}` : ""} --follow`}
      />
    </div>
  );
}

function said(tail: Tail, over: boolean): string {
  if (tail.state === "broken") return `Broken off (${tail.trouble}); tried again.`;
  if (tail.state === "reading") return "Reading …";
  return tail.state === "ended" || over ? "Ended." : "Live.";
}
